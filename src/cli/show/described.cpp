#include "cli/show/described.hpp"

#include <nlohmann/json.hpp>

#include "cli/output.hpp"

namespace leasehold::cli {

nlohmann::json json_of(const lock_info& lock) {
    nlohmann::json object{
        {"key", lock.key},
        {"token", lock.token.number},
        {"holder", lock.node_info},
        {"owner", lock.owner ? nlohmann::json(lock.owner->text()) : nlohmann::json()},
        {"session", lock.session ? nlohmann::json(lock.session->text()) : nlohmann::json()},
        {"held_seconds", seconds_of(lock.held_for)},
        {"left_seconds", seconds_of(lock.remaining)},
        {"count", lock.reentrant_count},
        {"waiters", lock.waiters},
        {"metadata", lock.metadata},
        {"kind", name_of(lock.kind)},
        {"mode", name_of(lock.mode)},
        {"permits", lock.permits},
        {"holders", lock.holders},
        {"permits_in_use", lock.permits_in_use},
        {"capacity", lock.capacity},
        {"arrived", lock.arrived},
        {"held", lock.is_held},
    };
    if (lock.free_for) object["free_seconds"] = seconds_of(*lock.free_for);
    return object;
}

nlohmann::json json_of(const waiter_info& waiter) {
    return {
        {"node", waiter.node_info},
        {"waiting_seconds", seconds_of(waiter.waits_for)},
        {"session", waiter.session.text()},
        {"owner", waiter.owner.text()}};
}

std::vector<std::string> lock_heading() {
    return {"KEY", "TOKEN", "HOLDER", "SINCE", "LEFT", "COUNT", "AS", "WAITERS", "NOTE"};
}

std::vector<cell> row_of(const lock_info& lock) {
    const auto where_held = [&](std::string text) { return lock.is_held ? std::move(text) : "-"; };
    // Arrivals at a latch keep its key in use.
    const bool is_free = !lock.is_held && lock.arrived == 0;
    const std::string since = lock.free_for ? shown(*lock.free_for) + " ago" : "-";
    return {
        {printable(lock.key)},
        {std::to_string(lock.token.number)},
        {is_free ? printable(lock.node_info) : where_held(printable(lock.node_info))},
        {is_free ? since : where_held(shown(lock.held_for) + " ago")},
        {is_free ? "free" : where_held(shown(lock.remaining))},
        {where_held(std::to_string(lock.reentrant_count))},
        {is_free ? name_of(lock.kind) : shown_kind(lock)},
        {std::to_string(lock.waiters)},
        {printable(lock.metadata)},
    };
}

std::string shown_note(const lock_info& lock) {
    return lock.metadata.empty() ? "" : ": " + lock.metadata;
}

std::string shown_arrivals(const lock_info& latch) {
    return std::to_string(latch.arrived) + " of " + std::to_string(latch.capacity) + " arrived";
}

// A few words about how the holder has the key, and for how long it still has it.
std::string shown_kind(const lock_info& lock) {
    switch (lock.kind) {
        case lock_kind::mutex:
            break;
        case lock_kind::shared_mutex:
            return name_of(lock.mode);
        case lock_kind::semaphore:
            return std::to_string(lock.permits) + (lock.permits == 1 ? " permit, " : " permits, ") +
                   std::to_string(lock.permits_in_use) + " of " + std::to_string(lock.capacity) +
                   " in use";
        case lock_kind::latch:
            return "at a latch, " + shown_arrivals(lock);
        case lock_kind::barrier:
            return "at a barrier of " + std::to_string(lock.capacity);
    }
    return name_of(lock.kind);
}

}  // namespace leasehold::cli
