#include "locks/sql_hold_rows.hpp"

#include <algorithm>

#include "locks/holder_store.hpp"
#include "sql/row_columns.hpp"

namespace leasehold {
namespace {

constexpr std::size_t hold_columns = 10;

// A statement reads clocks more than once, so that a difference may be negative. Null, 0 here: the
// session's row is gone.
std::chrono::microseconds not_negative(const row& from, std::size_t column) {
    const std::int64_t found = from.is_null(column) ? 0 : from.integer(column);
    return std::chrono::microseconds{std::max(std::int64_t{0}, found)};
}

}  // namespace

lock_info hold_in(const row& from, std::size_t first) {
    lock_info info;
    info.key = from.bytes(first);
    info.token = {from.integer(first + 1)};
    info.is_held = from.integer(first + 2) != 0;
    info.node_info = from.bytes(first + 5);
    if (!info.is_held) return info;
    info.owner = identity_of<owner_id>(from, first + 3);
    if (!from.is_null(first + 4)) info.session = identity_of<session_id>(from, first + 4);
    info.reentrant_count = from.integer(first + 6);
    info.held_for = not_negative(from, first + 7);
    info.remaining = not_negative(from, first + 8);
    if (!from.is_null(first + 9)) info.metadata = from.bytes(first + 9);
    return info;
}

lock_info described_in(const row& from) {
    lock_info info = hold_in(from, 0);
    info.waiters = from.integer(hold_columns);
    return info;
}

lock_info free_in(const row& from) {
    lock_info info;
    info.key = from.bytes(0);
    info.token = {from.integer(1)};
    info.node_info = from.bytes(2);
    info.waiters = from.integer(3);
    info.kind = static_cast<lock_kind>(from.integer(4));
    if (!from.is_null(5)) info.free_for = not_negative(from, 5);
    return info;
}

lock_info holder_in(const row& from, std::size_t first) {
    lock_info info = hold_in(from, first);
    info.kind = static_cast<lock_kind>(from.integer(first + hold_columns));
    info.mode = hold_mode_of(from.integer(first + hold_columns + 1));
    info.permits = from.integer(first + hold_columns + 2);
    info.holders = 1;
    return info;
}

std::vector<lock_info> holders_in(const result& found) {
    std::vector<lock_info> all;
    all.reserve(found.rows.size());
    for (const row& each : found.rows) all.push_back(holder_in(each, 0));
    return all;
}

row_lock_info row_lock_in(const row& from, const std::string& key) {
    const auto words = [&](std::size_t at) {
        return from.is_null(at) ? std::string{} : from.bytes(at);
    };
    row_lock_info found;
    found.key = key;
    if (!from.is_null(0)) found.connection = from.integer(0);
    found.user = words(1);
    found.host = words(2);
    found.application = words(3);
    found.state = words(4);
    if (!from.is_null(5)) found.open_for = not_negative(from, 5);
    found.may_be_others = from.integer(6) > 1;
    return found;
}

}  // namespace leasehold
