#pragma once
// Upkeep of many rows in packets each of which is a transaction of its own, so that no row stays
// locked between two round trips: whoever is paused there would keep others from their keys.
#include <functional>
#include <string>
#include <string_view>

#include "leasehold/connection.hpp"

namespace leasehold::mysql_dialect {

// The statements of one packet. What they have changed they add to the variable @leasehold_count;
// further variables are theirs.
class batch {
public:
    // Each statement ends with a semicolon.
    void add(std::string_view statements, const parameters& values = {});
    // Begins, carries out and commits all of it. Returns @leasehold_count.
    std::int64_t send(connection& on) const;

private:
    std::string packet_;
    parameters values_;
};

// For each row found what `add` makes of it, after `first` in each packet. Returns the sum.
std::int64_t in_batches(
    connection& on,
    const result& found,
    const std::function<void(batch&, const row&)>& add,
    std::string_view first = ""
);

}  // namespace leasehold::mysql_dialect
