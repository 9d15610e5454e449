#pragma once
// The one reader of lock_info, from the columns that describe a hold in the answer of each
// statement.
#include <cstddef>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold {

// The columns of a hold from `first` on. A key that is not held has only its name, the fence and
// the name of its last holder.
lock_info hold_in(const row& from, std::size_t first);

lock_info described_in(const row& from);

lock_info free_in(const row& from);

lock_info holder_in(const row& from, std::size_t first);
std::vector<lock_info> holders_in(const result& found);

// The transaction that keeps the row of this key locked.
row_lock_info row_lock_in(const row& from, const std::string& key);

}  // namespace leasehold
