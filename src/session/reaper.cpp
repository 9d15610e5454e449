#include "session/reaper.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "database/database.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "locks/hold_store.hpp"
#include "session/release.hpp"
#include "session/upkeep_store.hpp"

namespace leasehold {
namespace {

constexpr std::chrono::milliseconds max_timeout = std::chrono::hours{24 * 366 * 100};

void require_valid(const reap_settings& settings) {
    constexpr std::chrono::seconds least{60};
    // A hold whose session has no row is freed at once, and nothing else says that its key is
    // closed for a lock_delay. So a session's row stays until the delay has passed.
    static_assert(least >= max_lock_delay);
    constexpr std::chrono::seconds most = std::chrono::hours{24 * 366 * 100};
    if (settings.max_rows_per_step < 1 || settings.max_rows_per_step > 10'000) {
        throw error(errc::invalid_argument, "max_rows_per_step must be 1 to 10000");
    }
    if (settings.session_retention < least || settings.lock_retention < least) {
        throw error(
            errc::invalid_argument,
            "session_retention and lock_retention must be at least 60 s: what a dead process sent "
            "last must find its row"
        );
    }
    if (settings.session_retention > most || settings.lock_retention > most) {
        throw error(
            errc::invalid_argument, "session_retention and lock_retention must be at most 100 years"
        );
    }
    if (settings.timeout && *settings.timeout <= std::chrono::milliseconds{0}) {
        throw error(errc::invalid_argument, "timeout must be positive, or unset for no limit");
    }
}

// In this order if there is time for all: a session's row may only be deleted when nothing that
// refers to it is left.
constexpr upkeep_task tasks[] = {
    upkeep_task::dead_locks,
    upkeep_task::dead_holders,
    upkeep_task::dead_waiters,
    upkeep_task::old_sessions,
    upkeep_task::idle_locks};

enum class step_status { made, taken, out_of_time };

class clean_up {
public:
    clean_up(
        database::implementation& within,
        connection& on,
        store_set& stores,
        const reap_settings& settings LEASEHOLD_LIFETIMEBOUND
    )
        : within_(within),
          on_(on),
          stores_(stores),
          settings_(settings),
          stop_at_(
              settings.timeout ? local_clock::now() + std::min(*settings.timeout, max_timeout)
                               : local_clock::time_point::max()
          ) {}

    // Sorts the tasks that have waited longest to the front.
    std::vector<upkeep_progress> progress() {
        auto all = stores_.get<upkeep_store>().progress(on_);
        std::ranges::sort(all, std::greater<>{}, &upkeep_progress::since_turn);
        return all;
    }

    // For use after an error: a time-out can cost the connection.
    bool may_go_on() { return on_.state() == connection_state::idle; }

    bool is_over() const { return local_clock::now() >= stop_at_; }
    reap_report& report() { return report_; }

    // False, too, if somebody keeps the row locked: some engines refuse then, others wait.
    bool begin_turn(upkeep_progress& at, std::chrono::microseconds every);

    // Looks at the next rows, clears those that it may, and moves `at` on.
    step_status step(upkeep_progress& at);
    // Makes a step; an error says which task it was.
    step_status try_step(upkeep_progress& at);

    // Clears everything that was there at the beginning, though other sessions take turns in
    // between.
    void finish(upkeep_task task);
    // False if somebody keeps the task's row locked for as long as a statement may wait for one.
    bool begin_turn_at_last(upkeep_progress& at);

    // Removes ended grants that were kept for long enough: all of them, or those of `max_steps`
    // steps.
    void prune_history(std::optional<int> max_steps = {});

private:
    std::chrono::microseconds retention_of(upkeep_task task) const;
    int rows_for(const upkeep_progress& at) const;
    struct clearing {
        std::int64_t had = 0;
        std::size_t tried = 0;  // the number of findings that were tried, from the first on
    };
    clearing clear(const upkeep_progress& at, const std::vector<upkeep_finding>& found);
    enum class service { served, refused, locked };
    service serve(const upkeep_progress& at, const upkeep_finding& what);
    std::int64_t count_left(const upkeep_progress& at, const std::vector<upkeep_finding>& found);
    void count(upkeep_task task, std::int64_t cleared);
    upkeep_progress progress_of(upkeep_task task);

    database::implementation& within_;
    connection& on_;
    store_set& stores_;
    const reap_settings& settings_;
    const local_clock::time_point stop_at_;
    reap_report report_;
};

std::chrono::microseconds clean_up::retention_of(upkeep_task task) const {
    if (task == upkeep_task::old_sessions) return settings_.session_retention;
    return task == upkeep_task::idle_locks ? settings_.lock_retention : std::chrono::seconds{0};
}

// Halves the rows for each turn that ended without a step, because the step took too long.
int clean_up::rows_for(const upkeep_progress& at) const {
    constexpr int rows_min = 10;
    constexpr std::int64_t max_halvings = 16;
    const auto halvings = std::clamp<std::int64_t>(at.unfinished - 1, 0, max_halvings);
    return std::max(
        settings_.max_rows_per_step >> halvings, std::min(settings_.max_rows_per_step, rows_min)
    );
}

void clean_up::count(upkeep_task task, std::int64_t cleared) {
    if (task == upkeep_task::old_sessions) {
        report_.sessions_removed += cleared;
    } else if (task == upkeep_task::idle_locks) {
        report_.locks_removed += cleared;
    } else if (task != upkeep_task::dead_waiters) {
        report_.locks_freed += cleared;
    }
}

bool clean_up::begin_turn(upkeep_progress& at, std::chrono::microseconds every) {
    try {
        if (!stores_.get<upkeep_store>().begin_turn(on_, at, every)) return false;
    } catch (const error& failure) {
        if (!may_go_on() || !failure.is_transient()) throw;
        return false;
    }
    ++at.turn;
    ++at.unfinished;
    return true;
}

// Hands a key that the dead held to its first waiter. `locked`: somebody keeps a row of its queue
// locked, so that nothing can be done.
clean_up::service clean_up::serve(const upkeep_progress& at, const upkeep_finding& what) {
    // If more than `max_turns` turns ended without a step, waiting for such a locked row may have
    // cost their connection: every second turn then skips all such rows, to make progress.
    constexpr std::int64_t max_turns = 12;
    if (at.unfinished > max_turns && at.turn % 2 == 0) return service::locked;
    try {
        const auto status = serve_key(within_, on_, stores_, key{what.place});
        return status == hand_over_status::refused ? service::refused : service::served;
    } catch (const error&) {
        if (!may_go_on()) throw;
        return service::locked;
    }
}

// If nobody waits, this removes the lock row's ticket. It skips rows that somebody has locked, and
// goes on with the next ones.
clean_up::clearing clean_up::clear(
    const upkeep_progress& at, const std::vector<upkeep_finding>& found
) {
    constexpr std::size_t max_rows_per_statement = 100;
    clearing done;
    std::vector<std::string> places;
    const auto clear_these = [&] {
        if (places.empty()) return;
        const auto cleared =
            stores_.get<upkeep_store>().clear(on_, at.task, places, retention_of(at.task));
        count(at.task, cleared);
        done.had += cleared;
        places.clear();
    };
    for (; done.tried < found.size() && !is_over(); ++done.tried) {
        const upkeep_finding& each = found[done.tried];
        const auto outcome = each.is_queued ? serve(at, each) : service::refused;
        if (outcome == service::served) {
            count(at.task, 1);
            ++done.had;
        }
        if (outcome == service::refused) places.push_back(each.place);
        if (places.size() == max_rows_per_statement) clear_these();
    }
    clear_these();
    return done;
}

// Counts the found rows that still exist: those that another session has cleared do not count.
std::int64_t clean_up::count_left(
    const upkeep_progress& at, const std::vector<upkeep_finding>& found
) {
    const auto again = stores_.get<upkeep_store>().look(
        on_, at.task, at.place, rows_for(at), retention_of(at.task)
    );
    const auto is_left = [&](const upkeep_finding& each) {
        return std::ranges::find(again.found, each.place, &upkeep_finding::place) !=
               again.found.end();
    };
    return std::ranges::count_if(found, is_left);
}

// If there was no time for all findings, the next step begins behind those that were tried: so a
// locked row, which may take all the time of a step, does so only once in a pass.
step_status clean_up::step(upkeep_progress& at) {
    upkeep_look seen = stores_.get<upkeep_store>().look(
        on_, at.task, at.place, rows_for(at), retention_of(at.task)
    );
    std::int64_t left = 0;
    bool has_all = true;
    if (!seen.found.empty()) {
        const clearing done = clear(at, seen.found);
        has_all = done.had == static_cast<std::int64_t>(seen.found.size());
        if (done.tried == 0) return step_status::out_of_time;
        if (done.tried < seen.found.size()) {
            seen.found.resize(done.tried);
            seen.place = seen.found.back().place;
            has_all = done.had == static_cast<std::int64_t>(done.tried);
        }
        if (!has_all) left = count_left(at, seen.found);
    }
    if (!stores_.get<upkeep_store>().advance(on_, at, seen, !has_all)) return step_status::taken;
    report_.rows_left += left;
    at.unfinished = std::max<std::int64_t>(at.unfinished - 1, 0);
    at.place = seen.place;
    if (at.place.empty()) ++at.passes;
    return step_status::made;
}

step_status clean_up::try_step(upkeep_progress& at) {
    try {
        return step(at);
    } catch (const error& failure) {
        throw error(failure.code(), std::string{name_of(at.task)} + ": " + failure.what());
    }
}

upkeep_progress clean_up::progress_of(upkeep_task task) {
    for (upkeep_progress& each : stores_.get<upkeep_store>().progress(on_)) {
        if (each.task == task) return std::move(each);
    }
    throw error(
        errc::schema_mismatch,
        "the table of the clean-up has no row for " + std::string{name_of(task)}
    );
}

// The session whose turn it is has the row locked for a moment.
bool clean_up::begin_turn_at_last(upkeep_progress& at) {
    constexpr std::chrono::milliseconds first_pause{1}, last_pause{50};
    const auto until = local_clock::now() + within_.settings().statement_timeout;
    for (int refusals = 1;; ++refusals) {
        const auto turn = at.turn;
        if (begin_turn(at, std::chrono::microseconds{0})) return true;
        at = progress_of(at.task);
        if (is_over()) return false;
        if (at.turn != turn) continue;  // that turn was another session's, and is over
        if (local_clock::now() >= until) return false;
        pause_for(backed_off(refusals, first_pause, last_pause));
    }
}

// A pass that is under way began before this call, so this waits for the end of the next one. If
// another session takes the turn meanwhile this takes it again, and the other session's work
// counts.
void clean_up::finish(upkeep_task task) {
    std::optional<std::int64_t> wanted;
    const std::int64_t left_before = report_.rows_left;
    while (!is_over()) {
        upkeep_progress at = progress_of(task);
        if (wanted && at.passes >= *wanted) return;
        if (!begin_turn_at_last(at)) {
            if (!is_over()) ++report_.rows_left;
            break;
        }
        if (!wanted) wanted = at.passes + (at.place.empty() ? 1 : 2);
        auto status = step_status::made;
        while (status == step_status::made && at.passes < *wanted && !is_over()) {
            if (at.place.empty()) report_.rows_left = left_before;  // each row once
            status = step(at);
        }
        if (at.passes >= *wanted) return;
    }
    report_.is_complete = false;
}

void clean_up::prune_history(std::optional<int> max_steps) {
    for (int steps = 0; !is_over() && (!max_steps || steps < *max_steps); ++steps) {
        const auto pruned =
            stores_.get<upkeep_store>().prune_history(on_, settings_.max_rows_per_step);
        report_.grants_removed += pruned;
        if (pruned < settings_.max_rows_per_step) return;
    }
    report_.is_complete = false;
}

}  // namespace

const char* name_of(upkeep_task task) noexcept {
    switch (task) {
        case upkeep_task::dead_locks:
            return "locks of the dead";
        case upkeep_task::dead_holders:
            return "holders that are dead";
        case upkeep_task::dead_waiters:
            return "waiters that are dead";
        case upkeep_task::old_sessions:
            return "old sessions";
        case upkeep_task::idle_locks:
            break;
    }
    return "idle locks";
}

reap_report reap_on(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const reap_settings& settings
) {
    require_valid(settings);
    clean_up all{within, on, stores, settings};
    if (!settings.timeout) {
        for (const upkeep_task each : tasks) all.finish(each);
    } else {
        for (const upkeep_progress& each : all.progress()) all.finish(each.task);
    }
    all.prune_history();
    return all.report();
}

reap_report reap_in_turn(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const reap_settings& settings,
    std::chrono::microseconds every
) {
    constexpr int max_steps = 20;
    require_valid(settings);
    clean_up share{within, on, stores, settings};
    bool is_ours = false;
    for (upkeep_progress& at : share.progress()) {
        if (share.is_over()) break;
        if (at.since_turn >= std::chrono::microseconds{0} && at.since_turn < every) continue;
        if (!share.begin_turn(at, every)) continue;
        is_ours = is_ours || at.task == upkeep_task::idle_locks;
        const auto pass = at.passes;
        auto status = step_status::made;
        for (int steps = 0; steps < max_steps && status == step_status::made; ++steps) {
            if (at.passes > pass || share.is_over()) break;
            status = share.try_step(at);
        }
        if (at.passes == pass) share.report().is_complete = false;
    }
    // The history comes last, and only the session whose turn it is to remove idle locks prunes it:
    // a user that has no right to do so does all else.
    if (is_ours) share.prune_history(max_steps);
    return share.report();
}

event reaped_rows(std::int64_t rows) noexcept {
    return {event_kind::reaped, "", rows, "rows of the dead", event_reason::dead_rows};
}

reap_report reap(const database& db, const reap_settings& settings) {
    require_valid(settings);
    auto report = db.inner()->use([&](connection& on, store_set& stores) {
        return reap_on(*db.inner(), on, stores, settings);
    });
    const auto total = report.sessions_removed + report.locks_freed + report.locks_removed;
    if (total > 0) db.inner()->tell(reaped_rows(total));
    return report;
}

}  // namespace leasehold
