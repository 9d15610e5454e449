#include "leasehold/observer.hpp"

#include <utility>

#include "core/seconds_text.hpp"
#include "core/utf8.hpp"

namespace leasehold {
namespace {

template <std::size_t Count>
const char* name_at(const char* const (&names)[Count], std::size_t at) noexcept {
    return at < Count ? names[at] : "unknown";
}

}  // namespace

const char* name_of(event_kind kind) noexcept {
    static constexpr const char* names[] = {
        "unknown",
        "granted",
        "refused",
        "released",
        "lost",
        "late_heartbeat",
        "stale_token_refused",
        "outcome_unknown",
        "release_failed",
        "reconnected",
        "reaped",
        "warning",
        "revoke_requested",
        "handed_over",
        "doubt_settled",
        "waited_in_vain",
        "connection_waited",
        "job_started",
        "job_ended",
        "job_rescued",
        "job_enqueued",
        "job_claimed",
        "job_timed_out",
    };
    static_assert(std::size(names) == static_cast<std::size_t>(event_kind::job_timed_out) + 1);
    return name_at(names, static_cast<std::size_t>(kind));
}

const char* name_of(event_reason reason) noexcept {
    static constexpr const char* names[] = {
        "none",    "expired",     "ended_by_server", "taken_over", "released",    "session_ended",
        "tried",   "handed_over", "adopted",         "busy",       "already_run", "closed",
        "forced",  "rolled_back", "failed",          "slow",       "dead_rows",   "found_free",
        "granted", "not_granted", "given_up",        "timed_out",  "cancelled",   "completed",
        "retried", "snoozed",     "discarded",       "lost",       "unknown",
    };
    return name_at(names, static_cast<std::size_t>(reason));
}

const char* name_of(event_level level) noexcept {
    static constexpr const char* names[] = {"unknown", "debug", "info", "warning", "error"};
    return name_at(names, static_cast<std::size_t>(level));
}

namespace {

event_level level_of_end(event_reason how) noexcept {
    switch (how) {
        case event_reason::completed:
            return event_level::debug;
        case event_reason::snoozed:
        case event_reason::released:
        case event_reason::cancelled:
            return event_level::info;
        default:
            return event_level::warning;
    }
}

// " in queue 'mail', job 12 of kind 'confirm', attempt 2"
std::string job_text(const event& what) {
    std::string text = " in queue '" + printable_utf8(what.queue) + "', ";
    const std::string number = std::to_string(what.number);
    if (what.kind == event_kind::job_rescued) return text + "number " + number;
    text += "job " + number + " of kind '" + printable_utf8(what.job_kind) + "'";
    if (what.attempt != 0) text += ", attempt " + std::to_string(what.attempt);
    return text;
}

}  // namespace

event_level level_of(const event& what) noexcept {
    switch (what.kind) {
        case event_kind::granted:
        case event_kind::refused:
        case event_kind::released:
        case event_kind::handed_over:
        case event_kind::waited_in_vain:
        case event_kind::connection_waited:
        case event_kind::job_started:
        case event_kind::job_enqueued:
        case event_kind::job_claimed:
            return event_level::debug;
        case event_kind::job_ended:
        case event_kind::job_rescued:
            return level_of_end(what.reason);
        case event_kind::reconnected:
        case event_kind::reaped:
        case event_kind::revoke_requested:
        case event_kind::doubt_settled:
            return event_level::info;
        case event_kind::late_heartbeat:
        case event_kind::stale_token_refused:
        case event_kind::outcome_unknown:
        case event_kind::release_failed:
        case event_kind::warning:
        case event_kind::job_timed_out:
            return event_level::warning;
        case event_kind::lost:
            break;
    }
    const bool was_wished = what.reason == event_reason::session_ended;
    return was_wished ? event_level::info : event_level::error;
}

std::string text_of(const event& what) {
    std::string text = name_of(what.kind);
    if (!what.key.empty()) text += " '" + printable_utf8(what.key) + "'";
    if (!what.queue.empty()) {
        text += job_text(what);
    } else if (what.number != 0) {
        const bool is_count = what.key.empty();
        text += (is_count ? ", number " : ", token ") + std::to_string(what.number);
    }
    const std::string_view reason = name_of(what.reason);
    const bool is_said = what.reason == event_reason::none || what.detail == reason;
    if (!is_said) text += ", " + std::string{reason};
    if (what.took) text += ", " + seconds_text(*what.took) + " s";
    if (what.waited) text += ", waited " + seconds_text(*what.waited) + " s";
    if (!what.detail.empty()) text += ": " + printable_utf8(what.detail);
    return text;
}

observers::observers(std::vector<pointer> all) : all_(std::move(all)) {
    std::erase(all_, nullptr);
}

void observers::on_event(const event& what) noexcept {
    for (const pointer& each : all_) each->on_event(what);
}

}  // namespace leasehold
