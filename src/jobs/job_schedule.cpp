#include "leasehold/job_schedule.hpp"
#include "jobs/job_notifier.hpp"

#include <utility>

#include "core/known_value.hpp"
#include "jobs/fire.hpp"
#include "jobs/job_check.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/needs.hpp"
#include "leasehold/error.hpp"
#include "leasehold/job_queue.hpp"
#include "locks/repeatedly.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

void require_valid(const job_schedule& what) {
    constexpr std::size_t max_name_bytes = 200, catch_up_most = 1000;
    require_name(what.name, "schedule");
    if (what.name.size() > max_name_bytes) {
        refuse_input("the name of a schedule must be at most 200 bytes of UTF-8");
    }
    require_name(what.queue, "queue");
    require_valid(what.job, job_queue_settings{}.max_payload_bytes);
    constexpr schedule::instant longest_text{std::chrono::microseconds{1}};
    require_valid(job_at(what, longest_text), job_queue_settings{}.max_payload_bytes);
    if (what.job.run_at || what.job.delay != what.job.delay.zero()) {
        refuse_input("the job of a schedule has no run_at and no delay: its fire times say when");
    }
    if (needs_others(what.job)) refuse_input("the job of a schedule needs no others");
    if (!what.job.traceparent.empty()) {
        refuse_input("the job of a schedule has no traceparent: no span enqueues it");
    }
    if (what.job.conflict == on_conflict::fail) {
        refuse_input("the job of a schedule keeps or replaces one of the same unique key");
    }
    require_known(what.misfire, misfire_policy::catch_up, "misfire_policy");
    if (what.max_catch_up < 1 || what.max_catch_up > static_cast<int>(catch_up_most)) {
        refuse_input("max_catch_up of a schedule must be 1 to 1000");
    }
    if (what.max_late < seconds{1} || what.max_late > hours{24 * 366}) {
        refuse_input("max_late of a schedule must be 1 s to 366 days");
    }
    constexpr std::size_t max_cron_bytes = 1000;
    if (what.cron.size() > max_cron_bytes) {
        refuse_input("the cron expression of a schedule must be at most 1000 bytes");
    }
    require_key(what.zone, "time zone of a schedule");
}

bool is_same(const new_job& one, const new_job& other) {
    const auto all = [](const new_job& of) {
        return std::tie(
            of.kind,
            of.payload,
            of.priority,
            of.unique_key,
            of.unique,
            of.conflict,
            of.ordering_key,
            of.retry.max_attempts,
            of.retry.delay,
            of.retry.max_delay,
            of.attempt_timeout,
            of.max_rescues
        );
    };
    return all(one) == all(other);
}

bool has_same_times(const job_schedule& one, const job_schedule& other) {
    return std::tie(one.cron, one.zone, one.every) == std::tie(other.cron, other.zone, other.every);
}

bool is_same(const job_schedule& one, const job_schedule& other) {
    const auto all = [](const job_schedule& of) {
        return std::tie(of.name, of.queue, of.misfire, of.max_catch_up, of.max_late);
    };
    return all(one) == all(other) && has_same_times(one, other) && is_same(one.job, other.job);
}

job_schedule_info info_of(const job_schedule_row& row, schedule::instant now) {
    job_schedule_info info;
    info.what = row.what;
    info.is_paused = row.is_paused;
    info.next = row.next;
    info.next_in = std::max(microseconds{0}, row.next - now);
    info.last = row.last;
    info.last_job = row.last_job;
    if (!row.is_paused) info.overdue_for = std::max(microseconds{0}, now - row.next);
    return info;
}

// Changes a row by `to`, which gets the row and the time, and returns false to leave the row as it
// is. Reads the row again if somebody else changed it first.
template <class To>
bool change(const database& db, std::string_view name, To&& to) {
    return repeatedly(db, [&](connection& on, store_set& stores) {
        constexpr int max_looks = 10;
        for (int look = 0; look < max_looks; ++look) {
            const auto seen = stores.get<job_schedule_store>().find(on, name);
            auto row = seen.rows.empty() ? std::nullopt : std::optional{seen.rows.front()};
            if (!to(row, seen.now)) return false;
            if (!stores.get<job_schedule_store>().put(on, *row)) continue;
            // The queue's workers then look when the schedule fires next.
            db.inner()->part<job_notifier>().notify(on, stores, row->what.queue);
            return true;
        }
        throw error(
            errc::transient,
            "schedule '" + std::string{name} + "' is changed all the time; set it again"
        );
    });
}

using maybe_row = std::optional<job_schedule_row>;

// A time that has fired does not fire again, also if the clock was set back.
schedule::instant next_behind(const job_schedule_row& row, schedule::instant at) {
    return times_of(row.what).next(row.last ? std::max(*row.last, at) : at);
}

// Says whether there is such a schedule. `to` changes its row, and returns false to leave it.
template <class To>
bool change_if_there(const database& db, std::string_view name, To&& to) {
    bool is_found = false;
    change(db, name, [&](maybe_row& row, schedule::instant now) {
        is_found = row.has_value();
        return row && to(*row, now);
    });
    return is_found;
}

auto look_at(const database& db, std::string_view name) {
    return read_repeatedly(db, [&](connection& on, store_set& stores) {
        return stores.get<job_schedule_store>().find(on, name);
    });
}

}  // namespace

const char* name_of(misfire_policy policy) noexcept {
    switch (policy) {
        case misfire_policy::skip:
            return "skip";
        case misfire_policy::fire_once:
            return "fire_once";
        case misfire_policy::catch_up:
            return "catch_up";
    }
    return "unknown";
}

bool set_job_schedule(const database& db, const job_schedule& what) {
    require_valid(what);
    times_of(what);  // throws for times that cannot be
    return change(db, what.name, [&](maybe_row& row, schedule::instant now) {
        if (row && is_same(row->what, what)) return false;
        const bool goes_on = row && has_same_times(row->what, what);
        if (!row) row.emplace();
        row->what = what;
        if (!goes_on) row->next = next_behind(*row, now);
        return true;
    });
}

bool remove_job_schedule(const database& db, std::string_view name) {
    return repeatedly(db, [&](connection& on, store_set& stores) {
        return stores.get<job_schedule_store>().remove(on, name);
    });
}

bool pause_job_schedule(const database& db, std::string_view name) {
    return change_if_there(db, name, [](job_schedule_row& row, schedule::instant) {
        return !std::exchange(row.is_paused, true);
    });
}

bool pause_job_schedule_for(const database& db, std::string_view name, microseconds length) {
    if (length < seconds{1} || length > hours{24 * 366}) {
        refuse_input("a pause of a schedule must be 1 s to 366 days");
    }
    return change_if_there(db, name, [&](job_schedule_row& row, schedule::instant now) {
        row.is_paused = false;
        row.next = next_behind(row, now + length - microseconds{1});
        return true;
    });
}

bool resume_job_schedule(const database& db, std::string_view name) {
    return change_if_there(db, name, [](job_schedule_row& row, schedule::instant now) {
        const auto next = next_behind(row, now);
        // One that is due fires still.
        if (!row.is_paused && row.next <= next) return false;
        row.is_paused = false;
        row.next = next;
        return true;
    });
}

std::optional<enqueued_job> run_job_schedule(const database& db, std::string_view name) {
    const auto seen = look_at(db, name);
    if (seen.rows.empty()) return std::nullopt;
    const job_schedule& what = seen.rows.front().what;
    return job_queue{db, what.queue}.enqueue(job_at(what, seen.now));
}

std::optional<job_schedule_info> find_job_schedule(const database& db, std::string_view name) {
    const auto seen = look_at(db, name);
    if (seen.rows.empty()) return std::nullopt;
    return info_of(seen.rows.front(), seen.now);
}

std::vector<job_schedule_info> list_job_schedules(const database& db) {
    std::vector<job_schedule_info> all;
    std::string after;
    while (true) {
        const auto page = read_repeatedly(db, [&](connection& on, store_set& stores) {
            return stores.get<job_schedule_store>().list(on, after);
        });
        for (const job_schedule_row& each : page.rows) all.push_back(info_of(each, page.now));
        if (page.rows.size() < job_schedule_store::max_rows) return all;
        after = page.rows.back().what.name;
    }
}

}  // namespace leasehold
