#include "cli/watch/snapshot.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/exit_status.hpp"
#include "leasehold/engine.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

// The doctor reads all sessions and all holds, so it runs seldom.
constexpr std::chrono::seconds examined_every{30};

template <class Entry, class Before>
void keep_first(std::vector<Entry>& all, Before before) {
    const std::size_t kept = std::min<std::size_t>(all.size(), max_shown);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(all.begin(), end, all.end(), before);
    all.erase(end, all.end());
    all.shrink_to_fit();
}

lock_view read_locks(const database& db, const lock_filter& filter) {
    lock_view view;
    view.filter = filter;
    view.page = list_locks(db, filter);
    view.counts = count_locks(db, filter.prefix);
    constexpr std::size_t max_asked = 20;
    constexpr std::int64_t max_queue = 1000;  // a queue of waiters is read whole
    for (const lock_info& each : view.page.items) {
        if (view.waiters.size() == max_asked) break;
        const bool is_asked = each.kind == lock_kind::mutex && each.waiters > 0;
        if (!is_asked || each.waiters > max_queue) continue;
        view.waiters[each.key] = list_waiters(db, key{each.key});
    }
    view.taken = wall_now();
    return view;
}

void read_sessions(const database& db, snapshot& into) {
    into.sessions = list_sessions(db);
    into.session_count = {};
    for (const session_info& each : into.sessions) {
        ++(each.is_live ? into.session_count.live : into.session_count.dead);
    }
    keep_first(into.sessions, [](const session_info& left, const session_info& right) {
        if (left.is_live != right.is_live) return right.is_live;
        return left.started_ago > right.started_ago;
    });
}

void read_runs(const database& db, snapshot& into) {
    into.runs = list_runs(db);
    into.run_count.clear();
    for (const run_info& each : into.runs) ++into.run_count[each.state];
    const auto is_bad = [](const run_info& each) {
        return each.state == run_state::failed || each.state == run_state::abandoned;
    };
    keep_first(into.runs, [&](const run_info& left, const run_info& right) {
        if (is_bad(left) != is_bad(right)) return is_bad(left);
        return left.started_ago < right.started_ago;
    });
    into.schedules = list_job_schedules(db);
    into.schedule_count = std::ssize(into.schedules);
    // A worker fires a schedule within its poll interval, so no worker serves one that is later.
    const auto is_overdue = [](const job_schedule_info& each) { return each.overdue_for >= 60s; };
    into.overdue_count = std::count_if(into.schedules.begin(), into.schedules.end(), is_overdue);
    keep_first(into.schedules, [&](const job_schedule_info& left, const job_schedule_info& right) {
        if (is_overdue(left) != is_overdue(right)) return is_overdue(left);
        if (left.is_paused != right.is_paused) return right.is_paused;
        return left.next < right.next;
    });
}

void read_queues(const database& db, snapshot& into) {
    into.queues = list_queues(db);
    into.queue_count = std::ssize(into.queues);
    into.job_count.clear();
    for (const queue_info& each : into.queues) {
        for (const auto& [state, count] : each.jobs) into.job_count[state] += count;
    }
    if (into.queues.size() <= max_shown) return;
    into.queues.resize(max_shown);
    into.queues.shrink_to_fit();
}

void read_failing(const database& db, snapshot& into) {
    constexpr int kept = 50;
    into.failing.clear();
    into.has_more_failing = false;
    for (const job_state state : {job_state::retryable, job_state::discarded}) {
        auto some = list_jobs(db, {.state = state, .limit = kept});
        into.has_more_failing = into.has_more_failing || some.next;
        // Payloads may be large, and nothing shows them.
        for (job_info& each : some.items) each.payload = {};
        std::move(some.items.begin(), some.items.end(), std::back_inserter(into.failing));
    }
}

// True when the failure is an answer of the database itself.
bool is_answer(const std::exception& failed) {
    const auto* const known = dynamic_cast<const error*>(&failed);
    return known && !known->connection_is_lost() && known->code() != errc::timed_out &&
           known->code() != errc::connection_failed;
}

// Reports the failure in the words of the tool, which contain no password.
void say_failure(const std::exception& failed, snapshot& now) {
    const auto* const known = dynamic_cast<const error*>(&failed);
    const failure said =
        known ? failure_of(*known) : failure{exit_status::failed, "database_error", failed.what()};
    now.failure = without_passwords(said.what());
    now.failure_status = said.status();
    now.failure_name = said.name();
}

}  // namespace

wall_time wall_now() {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

overview::overview(database db, refresh_settings settings)
    : database_(std::move(db)),
      snapshots_(
          [this] { return read(); },
          [](const snapshot& now) { return now.failure.has_value(); },
          settings
      ) {}

void overview::read_all(snapshot& into) {
    const server_info server = database_.server();
    into.engine = std::string(name_of(server.engine)) + " " + server.version_text;
    into.locks = read_locks(database_, {.prefix = {}, .after = {}, .limit = max_shown});
    read_sessions(database_, into);
    read_runs(database_, into);
    read_queues(database_, into);
    read_failing(database_, into);
    if (local_clock::now() >= next_examination_) examine_all(into);
}

void overview::examine_all(snapshot& into) {
    const auto began = local_clock::now();
    into.findings = diagnose(database_);
    // A program needs these rights. A user who only looks does not, and a read that lacks a right
    // says so.
    std::erase_if(into.findings, [](const finding& each) { return each.name == "missing_rights"; });
    into.examined = wall_now();
    constexpr int rests = 20;  // as long as it took
    const auto ended = local_clock::now();
    next_examination_ =
        ended + std::max<std::chrono::nanoseconds>(examined_every, rests * (ended - began));
}

snapshot overview::read() {
    snapshot now = last_;
    now.tried = wall_now();
    try {
        read_all(now);
        now.failure.reset();
        now.taken = wall_now();
        now.history.note(std::chrono::system_clock::now(), now.queues);
        last_ = now;
        has_failed_ = false;
    } catch (const std::exception& failed) {
        now = last_;  // without changes that came halfway
        now.tried = wall_now();
        say_failure(failed, now);
        // The doctor may know why. It runs at once if the failure is new, and not for a database
        // that does not answer. It reports what the database refuses it as a finding, and does not
        // throw.
        const bool is_news = !std::exchange(has_failed_, true);
        if (!is_answer(failed) || (!is_news && local_clock::now() < next_examination_)) return now;
        examine_all(now);
        last_.findings = now.findings;
        last_.examined = now.examined;
    }
    return now;
}

std::shared_ptr<const lock_view> overview::locks(const lock_filter& filter) {
    constexpr std::size_t max_kept = 16;
    const std::unique_lock guard{asks_, 2s};
    if (!guard) {
        throw error(errc::timed_out, "the database has been busy with others who look");
    }
    const auto now = local_clock::now();
    std::erase_if(kept_, [&](const kept_view& each) { return each.until <= now; });
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const kept_view& each) {
        return each.filter.prefix == filter.prefix && each.filter.after == filter.after;
    });
    if (found != kept_.end()) return found->view;
    auto view = std::make_shared<const lock_view>(read_locks(database_, filter));
    if (kept_.size() == max_kept) kept_.erase(kept_.begin());
    kept_.push_back({filter, local_clock::now() + 1s, view});
    return view;
}

}  // namespace leasehold::cli
