#pragma once
// Private to the dialect of MySQL and MariaDB: the facts that its store of tables takes from the
// catalogue.
#include <optional>
#include <string>

#include "claims/sql_plain_table_store.hpp"

namespace leasehold::mysql_dialect {

class mysql_catalogue : public plain_table_store {
public:
    bool lacks_index(const error& failure) const override;
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
    mysql_catalogue(const claim_words& words, bool is_mariadb)
        : plain_table_store(words), is_mariadb_(is_mariadb) {}

    const bool is_mariadb_;
};

}  // namespace leasehold::mysql_dialect
