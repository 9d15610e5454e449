#pragma once
// The one reader of lock_info, from the columns that describe a hold in the answer of each
// statement.
#include <cstddef>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold {

// Ten columns from `first` on: key, fence, whether it is held, owner, session or null, node_info,
// level, microseconds since the grant, microseconds that remain, metadata or null. A key that is
// not held has only its name, the fence and the name of its last holder.
lock_info hold_in(const row& from, std::size_t first);

// The ten columns, and the number of live waiters.
lock_info described_in(const row& from);

// Columns of a key that nobody holds: its name, the fence, the name of its last holder, the number
// of waiters, the kind it is used as, and microseconds for which it is free, or null.
lock_info free_in(const row& from);

// Columns of a key that several can hold: the ten, and the kind of the key, the bits of the holder,
// and the number of its permits.
lock_info holder_in(const row& from, std::size_t first);
std::vector<lock_info> holders_in(const result& found);

// The transaction that keeps the row of this key locked: number of the connection, user, host,
// application, its activity, microseconds since its transaction began, each or null, and the number
// of transactions that may be meant.
row_lock_info row_lock_in(const row& from, const std::string& key);

}  // namespace leasehold
