#pragma once
// Private to the PostgreSQL dialect: the facts that its store of tables takes from the catalogue.
#include <optional>
#include <string>

#include "claims/sql_plain_table_store.hpp"

namespace leasehold::postgres_dialect {

class postgres_catalogue : public plain_table_store {
public:
    bool is_same_column(const std::string& left, const std::string& right) const override;
    // boolean = bigint is an error here, and not a comparison.
    value as_sent(const column_shape& column, const value& given) const override;
    std::string change_column_text(const qualified_name& table, const column_change& wanted)
        const override;
    table_shape look_up(connection& inside, const qualified_name& table) const override;
    std::optional<std::string> taken_for_one(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const value& one,
        const value& other
    ) const override;

protected:
    using plain_table_store::plain_table_store;
};

}  // namespace leasehold::postgres_dialect
