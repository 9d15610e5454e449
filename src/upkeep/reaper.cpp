#include "upkeep/reaper.hpp"

#include <string>

#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "session/database.hpp"
#include "session/pass_on.hpp"

namespace leasehold {
namespace {

void require_valid(const reap_settings& settings) {
    constexpr std::chrono::seconds least{60};
    constexpr std::chrono::seconds most = std::chrono::hours{24 * 366 * 100};
    if (settings.batch_size < 1 || settings.batch_size > 10'000) {
        throw error(errc::invalid_argument, "batch_size must be 1 to 10000");
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
    if (settings.time_max < std::chrono::milliseconds{0}) {
        throw error(errc::invalid_argument, "time_max must be positive, or 0 for no limit");
    }
}

}  // namespace

reap_report reap_on(
    database::implementation& within, connection& on, store& stores, const reap_settings& settings
) {
    require_valid(settings);
    upkeep_store& upkeep = *stores.upkeep;
    const auto stop_at = local_clock::now() + settings.time_max;
    const bool is_limited = settings.time_max > std::chrono::milliseconds{0};
    reap_report report;
    // Batches until one comes back short: the rest is locked by others or not there.
    const auto drain = [&](std::int64_t& total, const auto& batch) {
        while (!is_limited || local_clock::now() < stop_at) {
            const std::int64_t done = batch();
            total += done;
            if (done < settings.batch_size) return;
        }
    };
    const int limit = settings.batch_size;
    // What the dead held goes to whoever waits for it; where nobody does, the mark goes.
    for (const key& each : stores.waiters->find_unserved(on, limit)) {
        if (is_limited && local_clock::now() >= stop_at) break;
        if (serve_key(within, on, stores, each)) ++report.locks_freed;
    }
    // In this order: a session's row may only go when nothing it held is left.
    drain(report.locks_freed, [&] { return upkeep.free_locks_of_the_dead(on, limit); });
    drain(report.locks_freed, [&] { return stores.holders->remove_dead(on, limit); });
    drain(report.sessions_removed, [&] {
        return upkeep.remove_sessions(on, settings.session_retention, limit);
    });
    drain(report.locks_removed, [&] {
        return upkeep.remove_idle_locks(on, settings.lock_retention, limit);
    });
    return report;
}

reap_report reap(const database& db, const reap_settings& settings) {
    require_valid(settings);
    auto report = db.inner()->use([&](connection& on, store& stores) {
        return reap_on(*db.inner(), on, stores, settings);
    });
    const auto total = report.sessions_removed + report.locks_freed + report.locks_removed;
    if (total > 0) db.inner()->tell({event_kind::reaped, "", total, "rows of the dead"});
    return report;
}

}  // namespace leasehold
