#include "locks/sql_hold_rows.hpp"

#include "columns_locks.hpp"
#include "locks/holder_store.hpp"
#include "sql/row_columns.hpp"

namespace leasehold {

lock_info hold_in(const row& from, std::size_t first) {
    using column = columns::sql::hold;
    const std::size_t session = first + column::session, metadata = first + column::metadata;
    lock_info info;
    info.key = from.bytes(first + column::key);
    info.token = {from.integer(first + column::token)};
    info.is_held = from.integer(first + column::is_held) != 0;
    info.node_info = from.bytes(first + column::node_info);
    if (!info.is_held) return info;
    info.owner = identity_of<owner_id>(from, first + column::owner);
    if (!from.is_null(session)) info.session = identity_of<session_id>(from, session);
    info.reentrant_count = from.integer(first + column::level);
    info.held_for = duration_of(from, first + column::held_for);
    info.remaining = duration_of(from, first + column::remaining);
    if (!from.is_null(metadata)) info.metadata = from.bytes(metadata);
    return info;
}

lock_info described_in(const row& from) {
    using column = columns::hold::describe;
    lock_info info = hold_in(from, column::hold);
    info.waiters = from.integer(column::waiters);
    return info;
}

lock_info free_in(const row& from) {
    using column = columns::free_keys::list;
    lock_info info;
    info.key = from.bytes(column::key);
    info.token = {from.integer(column::token)};
    info.node_info = from.bytes(column::node_info);
    info.waiters = from.integer(column::waiters);
    info.kind = static_cast<lock_kind>(from.integer(column::kind));
    info.free_for = duration_or_nothing(from, column::free_for);
    return info;
}

lock_info holder_in(const row& from, std::size_t first) {
    using column = columns::holder::holder;
    lock_info info = hold_in(from, first + column::hold);
    info.kind = static_cast<lock_kind>(from.integer(first + column::kind));
    info.mode = hold_mode_of(from.integer(first + column::mode));
    info.permits = from.integer(first + column::permits);
    info.holders = 1;
    return info;
}

std::vector<lock_info> holders_in(const result& found) {
    std::vector<lock_info> all;
    all.reserve(found.rows.size());
    for (const row& each : found.rows)
        all.push_back(holder_in(each, columns::holder::holders::holder));
    return all;
}

row_lock_info row_lock_in(const row& from, const std::string& key) {
    using column = columns::row_lock::lockers;
    row_lock_info found;
    found.key = key;
    found.connection = number_or(from, column::connection, found.connection);
    found.user = text_or_empty(from, column::user);
    found.host = text_or_empty(from, column::host);
    found.application = text_or_empty(from, column::application);
    found.state = text_or_empty(from, column::state);
    found.open_for = duration_or_nothing(from, column::open_for);
    found.may_be_others = from.integer(column::transactions) > 1;
    return found;
}

}  // namespace leasehold
