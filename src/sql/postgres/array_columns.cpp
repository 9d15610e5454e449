#include "sql/postgres/array_columns.hpp"

#include <variant>

#include "sql/postgres/array_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

// The type that a single parameter would get: numbers and bytes as such, text as the column has it.
std::string type_for(const value& first, const column_shape& column) {
    if (std::holds_alternative<std::int64_t>(first.held())) return "pg_catalog.int8";
    if (std::holds_alternative<double>(first.held())) return "pg_catalog.float8";
    if (std::holds_alternative<blob>(first.held())) return "pg_catalog.bytea";
    return column.element_type;
}

}  // namespace

std::optional<std::vector<array_column>> array_columns_of(
    const change_request& wanted, std::span<const versioned_row> rows
) {
    std::vector<array_column> columns;
    for (std::size_t part = 0; part < wanted.key.size(); ++part) {
        const value& first = rows[0].key[part];
        array_column& made = columns.emplace_back();
        made.name = "k" + std::to_string(part);
        made.type = type_for(first, *wanted.key[part]);
        if (made.type.empty()) return std::nullopt;
        for (const versioned_row& each : rows) {
            if (each.key[part].held().index() != first.held().index()) return std::nullopt;
            add_to_array(each.key[part], made.text);
        }
    }
    array_column versions{"v", "pg_catalog.int8", ""};
    for (const versioned_row& each : rows) add_to_array(each.version, versions.text);
    columns.push_back(std::move(versions));
    if (!wanted.mapping.claimed_by.empty() && !rows[0].claimed_as.empty()) {
        array_column claimants{"who", "pg_catalog.text", ""};
        for (const versioned_row& each : rows) add_to_array(each.claimed_as, claimants.text);
        columns.push_back(std::move(claimants));
    }
    for (array_column& each : columns) each.text = "{" + each.text + "}";
    return columns;
}

}  // namespace leasehold::postgres_dialect
