// What a column takes for one value on MySQL and MariaDB: by default whatever differs in case or
// accent alone, and with most collations in blanks at the end.
#include "store/equality_store.hpp"
#include "dialect/dialects.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

constexpr std::string_view column_sql = R"sql(
SELECT c.column_type, c.data_type, c.collation_name
  FROM information_schema.columns c
 WHERE c.table_name = ? AND c.column_name = ? AND c.table_schema = )sql";

// A column that holds what stands at its place, in the FROM of a statement: of the very type and
// collation, so that it converts, rounds, pads and compares as the table's own does. What is no
// value of that type is null there.
std::string held_as(const row& column, std::string_view alias) {
    std::string type = column.bytes(0);
    const std::string& word = column.bytes(1);
    if (word.find("binary") != std::string::npos || word.find("blob") != std::string::npos) {
        // JSON has no bytes. BINARY(n) alone changes what it is given.
        const std::string held = word == "binary" ? "CAST(? AS " + type + ")" : "?";
        return "(SELECT " + held + " AS c) AS " + std::string{alias};
    }
    // MariaDB takes no SET there, and of an enumeration the catalogue may not have each label.
    if (word == "enum" || word == "set") type = "VARCHAR(255)";
    if (!column.is_null(2)) {
        const std::string& collation = column.bytes(2);
        type += " CHARACTER SET " + collation.substr(0, collation.find('_'));
        type += " COLLATE " + collation;
    }
    return "JSON_TABLE(JSON_ARRAY(?), '$[*]' COLUMNS (c " + type + " PATH '$')) AS " +
           std::string{alias};
}

class mysql_equality_store final : public equality_store {
public:
    std::optional<std::string> taken_for_one(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const value& one,
        const value& other
    ) const override {
        const bool is_here = table.schema.empty();
        parameters which{table.name, column};
        if (!is_here) which.emplace_back(table.schema);
        std::string looking{column_sql};
        const result found = inside.execute(looking.append(is_here ? "DATABASE()" : "?"), which);
        const row& shape = found.rows.at(0);
        const std::string asking = "SELECT 1 FROM " + held_as(shape, "x") + " JOIN " +
                                   held_as(shape, "y") + " WHERE x.c = ? OR y.c = ? OR x.c = y.c";
        if (inside.execute(asking, {one, other, other, one}).rows.empty()) return std::nullopt;
        const std::string& type = shape.bytes(0);
        return shape.is_null(2) ? type : type + " with collation " + shape.bytes(2);
    }

    // An index has the collations of its columns.
    std::vector<std::string> finer_indexes(connection&, const qualified_name&) const override {
        return {};
    }
};

}  // namespace

std::unique_ptr<equality_store> make_mysql_equality_store() {
    return std::make_unique<mysql_equality_store>();
}

}  // namespace leasehold
