#pragma once
// The clean-up's position in a table whose primary key has two columns, as one string of bytes: the
// key, of any size, and behind it the second column, whose size is fixed: the *rest*.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/upkeep_store.hpp"

namespace leasehold {

// The second column is a holder's owner, or a waiter's ticket, the most significant byte first. The
// other tasks have none.
constexpr std::size_t size_of_rest(upkeep_task task) noexcept {
    constexpr std::size_t owner_size = 16, ticket_size = 8;
    if (task == upkeep_task::dead_holders) return owner_size;
    return task == upkeep_task::dead_waiters ? ticket_size : 0;
}

// The key and the rest; both are empty at the beginning.
inline std::pair<std::string, std::string> split_place(upkeep_task task, std::string_view place) {
    const std::size_t rest = place.empty() ? 0 : size_of_rest(task);
    const std::size_t key = place.size() < rest ? 0 : place.size() - rest;
    return {std::string{place.substr(0, key)}, std::string{place.substr(key)}};
}

inline std::string ticket_bytes(std::int64_t ticket) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8) {
        bytes += static_cast<char>((static_cast<std::uint64_t>(ticket) >> shift) & 0xff);
    }
    return bytes;
}

inline std::int64_t ticket_of(std::string_view bytes) {
    std::uint64_t ticket = 0;
    for (const char each : bytes) ticket = ticket << 8 | static_cast<unsigned char>(each);
    return static_cast<std::int64_t>(ticket);
}

// The columns of a look, in all dialects: key, rest, whether there is something to clear, whether
// somebody may wait for the key, and the end of the session.
inline upkeep_look upkeep_look_of(upkeep_task task, const result& seen, int rows) {
    upkeep_look answer;
    for (const row& each : seen.rows) {
        const bool is_last = &each == &seen.rows.back();
        const bool is_full = static_cast<int>(seen.rows.size()) >= rows;
        const bool is_found = !each.is_null(2) && each.integer(2) != 0;
        if (!each.is_null(4)) {
            auto& oldest = is_found ? answer.oldest : answer.oldest_passed_over;
            const std::chrono::microseconds end{each.integer(4)};
            oldest = std::min(oldest.value_or(end), end);
        }
        if (!is_found && !(is_last && is_full)) continue;
        std::string place = each.bytes(0);
        if (task == upkeep_task::dead_holders) place += each.bytes(1);
        if (task == upkeep_task::dead_waiters) place += ticket_bytes(each.integer(1));
        if (is_last && is_full) answer.place = place;
        if (!is_found) continue;
        answer.found.push_back({std::move(place), each.integer(3) != 0});
    }
    return answer;
}

inline std::vector<upkeep_progress> upkeep_progress_of(const result& seen) {
    std::vector<upkeep_progress> all;
    for (const row& each : seen.rows) {
        all.push_back({
            .task = static_cast<upkeep_task>(each.integer(0)),
            .turn = each.integer(1),
            .since_turn = std::chrono::microseconds{each.integer(2)},
            .unfinished = each.integer(3),
            .place = each.bytes(4),
            .passes = each.integer(5),
        });
    }
    return all;
}

}  // namespace leasehold
