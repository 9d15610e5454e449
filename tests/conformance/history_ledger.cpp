#include "conformance/history_ledger.hpp"

#include <algorithm>

namespace leasehold::testing {

bool history_ledger::is_live(int session) const {
    const auto found = sessions_.find(session);
    return found != sessions_.end() && found->second.left > seconds{0};
}

bool history_ledger::may_be_gone(int session) const {
    const auto found = sessions_.find(session);
    return found != sessions_.end() && found->second.may_be_gone;
}

bool history_ledger::keeps_others_out(const entry& held) const {
    const auto found = sessions_.find(held.by.session);
    const life session = found == sessions_.end() ? life{} : found->second;
    const seconds left = held.term_left.value_or(session.left);
    // The lock delay is for requests that were sent before a death. After an orderly end there are
    // none.
    const bool is_delayed =
        held.by.kind == lock_kind::mutex && (held.term_left.has_value() || !session.was_removed);
    const seconds delay = is_delayed ? std::chrono::hours{held.by.hours} : seconds{0};
    return left + delay > seconds{0};
}

void history_ledger::age_key(int key, seconds by) {
    for (auto& [owner, held] : holds_[key]) {
        if (held.term_left) *held.term_left -= by;
    }
}

void history_ledger::sessions_were_removed() {
    for (auto& [number, each] : sessions_) {
        if (each.left <= seconds{0}) each.may_be_gone = true;
    }
}

std::string history_ledger::note_grant(const history_event& event) {
    const history_step& by = event.by;
    const std::string who =
        "owner " + std::to_string(by.owner) + " of key " + std::to_string(by.key);
    if (!is_live(by.session)) return who + " was granted it when its session was dead";
    std::int64_t& last = last_tokens_[by.key];
    if (event.token <= last) {
        return who + " got token " + std::to_string(event.token) + " after " + std::to_string(last);
    }
    last = event.token;
    auto& holds = holds_[by.key];
    std::int64_t permits = by.permits;
    for (const auto& [owner, other] : holds) {
        if (owner == by.owner || !keeps_others_out(other)) continue;
        permits += other.permits;
        if (other.by.kind != by.kind) return who + ": another one holds it as another kind";
    }
    entry made{by, event.token, by.permits, std::nullopt};
    if (by.kind == lock_kind::mutex && by.term_hours > 0) {
        made.term_left = std::chrono::hours{by.term_hours};
    }
    holds[by.owner] = made;
    if (permits <= by.capacity) return "";
    return who + ": " + std::to_string(permits) + " permits are held of " +
           std::to_string(by.capacity);
}

std::string history_ledger::note(const history_event& event) {
    using kind = history_event::kind;
    const history_step& by = event.by;
    auto& holds = holds_[by.key];
    switch (event.what) {
        case kind::granted:
            return note_grant(event);
        case kind::released:
            holds.erase(by.owner);
            return "";
        case kind::reduced:
            if (const auto found = holds.find(by.owner); found != holds.end()) {
                found->second.permits = by.permits;
            }
            return "";
        case kind::passed:
            last_tokens_[by.key] = std::max(last_tokens_[by.key], event.token);
            if (const auto found = holds.find(by.owner); found != holds.end()) {
                found->second.permits = 0;
                found->second.token = event.token;
            }
            return "";
        case kind::emptied:
            holds.clear();
            return "";
        case kind::started:
            // A second request to start a session that is dead does not revive it.
            if (sessions_.contains(by.session) && !is_live(by.session)) return "";
            sessions_[by.session].left = std::chrono::hours{by.hours};
            return "";
        case kind::renewed:
            if (!is_live(by.session)) {
                return "session " + std::to_string(by.session) + " was renewed when it was dead";
            }
            sessions_[by.session].left = std::chrono::hours{by.hours};
            return "";
        case kind::ended:
            // The row of one that is dead is for the reaper.
            if (by.removes_row && is_live(by.session)) sessions_[by.session].was_removed = true;
            sessions_[by.session].left = std::min(sessions_[by.session].left, seconds{0});
            return "";
    }
    return "an event of no kind";
}

}  // namespace leasehold::testing
