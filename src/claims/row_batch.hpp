#pragma once
// Rows of one call, as a table store takes them: in the order of their keys, those of one form
// together, and rows with one key one at a time, in the order they were given.
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
    std::vector<std::size_t> places;  // the index of each row among those given
    std::vector<std::size_t> keys;    // the number of each row's key
};

struct row_parts {
    std::vector<row_part> parts;  // in the order they are to be sent
    std::size_t keys = 0;         // the number of different keys
};

// The rows at `places`. `as_sent`: makes a row with its key as the engine takes it.
row_parts parts_of(
    std::span<const versioned_row> rows,
    const std::vector<std::size_t>& places,
    bool has_claimed_by,
    const std::function<versioned_row(const versioned_row&)>& as_sent
);

}  // namespace leasehold
