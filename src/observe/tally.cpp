#include "observe/tally.hpp"

#include <algorithm>

namespace leasehold {
namespace {

using reason = event_reason;
using kind = event_kind;

constexpr std::size_t timed_count = 8;
// The slot for losses of sessions, which have no kind of their own.
constexpr std::size_t session_losses = 0;

constexpr reason no_reasons[] = {reason::none};
constexpr reason of_grants[] = {reason::tried, reason::handed_over, reason::adopted};
constexpr reason of_refusals[] = {reason::busy, reason::already_run, reason::closed};
constexpr reason of_releases[] = {reason::released, reason::forced, reason::rolled_back};
constexpr reason of_lost_leases[] = {
    reason::expired, reason::ended_by_server, reason::taken_over, reason::session_ended};
constexpr reason of_lost_sessions[] = {reason::expired, reason::ended_by_server};
constexpr reason of_hand_overs[] = {reason::released, reason::found_free};
constexpr reason of_heartbeats[] = {reason::failed, reason::slow};
constexpr reason of_settled[] = {
    reason::granted, reason::not_granted, reason::released, reason::given_up};
constexpr reason of_reaped[] = {reason::dead_rows};
constexpr reason of_rescued[] = {reason::released, reason::discarded};

constexpr std::size_t slot_of(kind which) noexcept {
    return static_cast<std::size_t>(which);
}

const counted_family all_counted[] = {
    {slot_of(kind::granted), "leasehold_grants_total", "Leases granted.", of_grants, true},
    {slot_of(kind::refused),
     "leasehold_refusals_total",
     "Tries that met a live holder, and runs that were not to be.",
     of_refusals,
     true},
    {slot_of(kind::released), "leasehold_releases_total", "Leases released.", of_releases, true},
    {slot_of(kind::lost),
     "leasehold_lost_leases_total",
     "Leases that ended without a release.",
     of_lost_leases,
     true},
    {session_losses,
     "leasehold_lost_sessions_total",
     "Sessions that ended without their owner's wish.",
     of_lost_sessions,
     false},
    {slot_of(kind::handed_over),
     "leasehold_hand_overs_total",
     "Waiters that this process made the owner of a key.",
     of_hand_overs,
     true},
    {slot_of(kind::late_heartbeat),
     "leasehold_late_heartbeats_total",
     "Heartbeats that failed, or took longer than the interval between two.",
     of_heartbeats,
     false},
    {slot_of(kind::stale_token_refused),
     "leasehold_stale_tokens_refused_total",
     "Proofs and releases that came after the lease had gone.",
     no_reasons,
     true},
    {slot_of(kind::outcome_unknown),
     "leasehold_doubts_total",
     "Requests that lost their answers.",
     no_reasons,
     true},
    {slot_of(kind::doubt_settled),
     "leasehold_doubts_settled_total",
     "What came of requests that lost their answers.",
     of_settled,
     true},
    {slot_of(kind::release_failed),
     "leasehold_failed_releases_total",
     "Releases that a destructor, or the end of a session, could not make.",
     no_reasons,
     true},
    {slot_of(kind::reconnected),
     "leasehold_reconnects_total",
     "Lost connections that were replaced.",
     no_reasons,
     false},
    {slot_of(kind::reaped),
     "leasehold_reaped_total",
     "Rows of dead sessions cleaned.",
     of_reaped,
     false},
    {slot_of(kind::job_rescued),
     "leasehold_jobs_rescued_total",
     "Jobs taken from dead workers, to run again or not.",
     of_rescued,
     false},
    {slot_of(kind::warning),
     "leasehold_warnings_total",
     "Settings and servers that weaken a promise, and what could not be done.",
     no_reasons,
     true},
    {slot_of(kind::revoke_requested),
     "leasehold_revocations_requested_total",
     "Requests to the holder of a lease to let go.",
     no_reasons,
     true},
};

std::optional<timed> timed_of(const event& what) noexcept {
    if (!what.took) return std::nullopt;
    const bool is_cancelled = what.reason == reason::cancelled;
    switch (what.kind) {
        case kind::granted:
            if (what.reason == reason::adopted) return std::nullopt;
            return timed::wait_granted;
        case kind::waited_in_vain:
            return is_cancelled ? timed::wait_cancelled : timed::wait_timed_out;
        case kind::released:
            return timed::hold_released;
        case kind::lost:
            return timed::hold_lost;
        case kind::connection_waited:
            if (is_cancelled) return timed::connection_cancelled;
            return what.reason == reason::granted ? timed::connection_granted
                                                  : timed::connection_timed_out;
        default:
            return std::nullopt;
    }
}

constexpr timed_series of_waits[] = {
    {timed::wait_granted, "granted"},
    {timed::wait_timed_out, "timed_out"},
    {timed::wait_cancelled, "cancelled"}};
constexpr timed_series of_holds[] = {
    {timed::hold_released, "released"}, {timed::hold_lost, "lost"}};
constexpr timed_series of_connections[] = {
    {timed::connection_granted, "granted"},
    {timed::connection_timed_out, "timed_out"},
    {timed::connection_cancelled, "cancelled"}};
const timed_family all_timed[] = {
    {"leasehold_wait_seconds", "From the call for a lease to its end.", of_waits, true},
    {"leasehold_hold_seconds", "From the grant of a lease to its end.", of_holds, true},
    {"leasehold_connection_wait_seconds",
     "Waits for a connection of the pool, of those that had to.",
     of_connections,
     false},
};

}  // namespace

std::span<const counted_family> counted_families() noexcept {
    return all_counted;
}

std::span<const timed_family> timed_families() noexcept {
    return all_timed;
}

void time_histogram::add(const time_bounds& bounds, std::chrono::nanoseconds took) noexcept {
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), took) - bounds.begin();
    counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    const auto time = std::max<std::chrono::nanoseconds::rep>(took.count(), 0);
    sum_.fetch_add(static_cast<std::uint64_t>(time), std::memory_order_relaxed);
}

tally::tally(const time_bounds& bounds) : bounds_(bounds) {
    for (std::size_t at = 0; at < timed_count; ++at) times_.emplace_back(bounds);
}

void tally::add(const event& what) noexcept {
    const bool is_session = what.kind == kind::lost && what.key.empty();
    const auto slot = is_session ? session_losses : slot_of(what.kind);
    const auto why = static_cast<std::size_t>(what.reason);
    if (slot >= kinds_count || why >= reasons_count) return;  // of a later version
    const auto number = std::max<std::int64_t>(what.number, 0);
    const bool is_number = what.kind == kind::reaped || what.kind == kind::job_rescued;
    const auto by = is_number ? static_cast<std::uint64_t>(number) : 1;
    counts_[slot][why].fetch_add(by, std::memory_order_relaxed);
    // If a question settled a request in doubt at once, only this event tells of it.
    if (what.kind == kind::doubt_settled && what.reason == reason::granted) {
        counts_[slot_of(kind::outcome_unknown)][0].fetch_add(1, std::memory_order_relaxed);
    }
    if (const auto which = timed_of(what)) {
        times_[static_cast<std::size_t>(*which)].add(bounds_, *what.took);
    }
}

std::uint64_t tally::count(const counted_family& of, event_reason why) const noexcept {
    if (why != reason::none) {
        return counts_[of.slot][static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
    }
    std::uint64_t all = 0;
    for (const auto& each : counts_[of.slot]) all += each.load(std::memory_order_relaxed);
    return all;
}

bool tally::has_any(const counted_family& of) const noexcept {
    return count(of, reason::none) > 0;
}

bool tally::has_any(const timed_family& of) const noexcept {
    return std::ranges::any_of(of.series, [&](const timed_series& each) {
        for (std::size_t at = 0; at <= bounds_.size(); ++at) {
            if (time(each.which).count(at) > 0) return true;
        }
        return false;
    });
}

}  // namespace leasehold
