#pragma once
// The statements of bench/<engine>.sql by their names.
//
// Threads: safe.
#include <string>
#include <string_view>

#include "leasehold/database.hpp"
#include "leasehold/engine.hpp"

namespace leasehold::bench {

// The text with the tables' names filled in. `table`: which of the tables of tasks; `ids`: for how
// many values {ids} stands, or rows of two {rows}, where it is in the text.
std::string text_of(
    engine which,
    std::string_view name,
    const table_names& names,
    std::string_view table = {},
    std::size_t ids = 0
);
bool has_text(engine which, std::string_view name);

}  // namespace leasehold::bench
