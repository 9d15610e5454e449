#pragma once
// Private to the PostgreSQL dialect: the makers of its own stores, and their common parts.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "sql/sql_store.hpp"

namespace leasehold::postgres_dialect {

using shared_dialect = std::shared_ptr<const sql_dialect>;

// "(0, $5::bytea), (1, $6::bytea)": numbers, and the places of keys from `first` on.
std::string numbered_keys(std::size_t count, std::size_t first);

}  // namespace leasehold::postgres_dialect
