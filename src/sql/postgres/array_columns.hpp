#pragma once
// Private to the PostgreSQL dialect: keys, versions and claimants of many rows, each as one
// parameter, so that a statement has one text for any number of rows.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "claims/table_store.hpp"

namespace leasehold::postgres_dialect {

struct array_column {
    std::string name;  // k0, k1, …, v, who
    std::string type;  // of an element, as any search_path finds it
    std::string text;  // {1,2,3}
};

// `who` comes last, if the rows have a claimant. nullopt if one type cannot hold all values: the
// caller then sends the rows one by one.
std::optional<std::vector<array_column>> array_columns_of(
    const change_request& wanted, std::span<const versioned_row> rows
);

}  // namespace leasehold::postgres_dialect
