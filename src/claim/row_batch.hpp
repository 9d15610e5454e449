#pragma once
// Rows of one call, as a table store takes them: in the order of their keys, those of one form
// together, and of several with one key one at a time, in the order they were given.
//
// Threads: plain functions.
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "leasehold/versioned_claim.hpp"

namespace leasehold {

struct row_part {
    std::vector<versioned_row> rows;
    std::vector<std::size_t> places;  // of each row, among those given
    std::vector<std::size_t> keys;    // of each row, the number of its key
};

struct row_parts {
    std::vector<row_part> parts;  // in the order they are to be sent
    std::size_t keys = 0;         // how many different ones there are
};

// Of `rows`, those at `places`. `as_sent`: with its key as the engine takes it.
row_parts parts_of(
    std::span<const versioned_row> rows,
    const std::vector<std::size_t>& places,
    bool has_claimed_by,
    const std::function<versioned_row(const versioned_row&)>& as_sent
);

}  // namespace leasehold
