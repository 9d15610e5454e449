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

#include "columns_session.hpp"
#include "session/upkeep_store.hpp"
#include "sql/row_columns.hpp"

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

// The looks for all tasks have the same columns.
inline upkeep_look upkeep_look_of(upkeep_task task, const result& seen, int rows) {
    using column = columns::upkeep::look_at_locks;
    upkeep_look answer;
    for (const row& each : seen.rows) {
        const bool is_last = &each == &seen.rows.back();
        const bool is_full = static_cast<int>(seen.rows.size()) >= rows;
        const bool is_found = number_or(each, column::is_found, 0) != 0;
        if (!each.is_null(column::ends_at)) {
            auto& oldest = is_found ? answer.oldest : answer.oldest_passed_over;
            const std::chrono::microseconds end{each.integer(column::ends_at)};
            oldest = std::min(oldest.value_or(end), end);
        }
        if (!is_found && !(is_last && is_full)) continue;
        std::string place = each.bytes(column::place);
        if (task == upkeep_task::dead_holders) place += each.bytes(column::rest);
        if (task == upkeep_task::dead_waiters) place += ticket_bytes(each.integer(column::rest));
        if (is_last && is_full) answer.place = place;
        if (!is_found) continue;
        answer.found.push_back({std::move(place), each.integer(column::is_awaited) != 0});
    }
    return answer;
}

inline std::vector<upkeep_progress> upkeep_progress_of(const result& seen) {
    using column = columns::upkeep::progress;
    std::vector<upkeep_progress> all;
    for (const row& each : seen.rows) {
        all.push_back({
            .task = static_cast<upkeep_task>(each.integer(column::task)),
            .turn = each.integer(column::turn),
            .since_turn = std::chrono::microseconds{each.integer(column::since_turn)},
            .unfinished = each.integer(column::unfinished),
            .place = each.bytes(column::place),
            .passes = each.integer(column::passes),
        });
    }
    return all;
}

}  // namespace leasehold
