// What a column takes for one value on SQLite: by its collation, which the catalogue does not tell,
// and by its affinity, which makes a number of text that is one.
#include <algorithm>

#include "dialect/dialects.hpp"
#include "dialect/sql_text.hpp"
#include "leasehold/error.hpp"
#include "store/equality_store.hpp"

namespace leasehold {
namespace {

constexpr std::string_view type_sql =
    "SELECT upper(type) FROM pragma_table_xinfo(?1, ?2) WHERE lower(name) = lower(?3)";
constexpr std::string_view indexes_sql =
    "SELECT name FROM pragma_index_list(?1, ?2) WHERE \"unique\"";
constexpr std::string_view parts_sql =
    "SELECT name, coll FROM pragma_index_xinfo(?1, ?2) WHERE \"key\" AND name IS NOT NULL";

std::string name_of(const std::string& identifier) {
    return quoted_identifier(identifier, '`');
}
std::string schema_of(const qualified_name& table) {
    return table.schema.empty() ? "main" : table.schema;
}

// What a column of that type holds of the value at the place. CAST would make a number of any text,
// and a comparison with a number makes one only of text that is one.
std::string held_as(const std::string& type, const std::string& place) {
    const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
    const bool is_integer = has("INT");
    if (!is_integer && (has("CHAR") || has("CLOB") || has("TEXT"))) {
        return "CASE typeof(" + place + ") WHEN 'blob' THEN " + place + " ELSE CAST(" + place +
               " AS TEXT) END";
    }
    if (!is_integer && (type.empty() || has("BLOB"))) return place;
    const bool is_real = !is_integer && (has("REAL") || has("FLOA") || has("DOUB"));
    const std::string number = "CAST(" + place + (is_real ? " AS REAL)" : " AS NUMERIC)");
    return "CASE WHEN " + number + " = " + place + " THEN " + number + " ELSE " + place + " END";
}

// How many values these are to the column: UNION takes for one row what the column of its first
// SELECT takes for one value.
std::string count_of(
    const qualified_name& table,
    const std::string& column,
    const std::string& one,
    const std::string& other
) {
    return "(SELECT count(*) FROM (SELECT t." + name_of(column) + " FROM " +
           name_of(schema_of(table)) + "." + name_of(table.name) + " AS t WHERE 0 UNION SELECT " +
           one + " UNION SELECT " + other + "))";
}

class sqlite_equality_store final : public equality_store {
public:
    std::optional<std::string> taken_for_one(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const value& one,
        const value& other
    ) const override {
        const auto shape = inside.execute(type_sql, {table.name, schema_of(table), column});
        const std::string type = shape.rows.at(0).text(0);
        const std::string held = held_as(type, "?1");
        const std::string other_held = held_as(type, "?2");
        const row said = inside
                             .execute(
                                 "SELECT " + count_of(table, column, held, other_held) + ", " +
                                     held + " = " + other_held,
                                 {one, other}
                             )
                             .rows.at(0);
        if (said.integer(0) != 1) return std::nullopt;
        const std::string is_type = type.empty() ? "of no type" : type;
        if (said.integer(1) == 1) return is_type;  // its type alone makes them one
        std::string names;
        for (const row& each : inside.execute("SELECT name FROM pragma_collation_list").rows) {
            const auto is_one =
                inside.execute("SELECT ?1 = ?2 COLLATE " + name_of(each.text(0)), {one, other});
            if (is_one.rows.at(0).integer(0) != 1) continue;
            names += (names.empty() ? "" : " or ") + each.text(0);
        }
        return is_type + " with collation " + names;
    }

    // By what the collations that come with SQLite take for one.
    std::vector<std::string> finer_indexes(connection& inside, const qualified_name& table)
        const override {
        std::vector<std::string> names;
        const std::string schema = schema_of(table);
        for (const row& index : inside.execute(indexes_sql, {table.name, schema}).rows) {
            const std::string name = index.text(0);
            const auto parts = inside.execute(parts_sql, {name, schema}).rows;
            const bool is_finer = std::any_of(parts.begin(), parts.end(), [&](const row& part) {
                return is_finer_than(inside, table, part.text(0), part.text(1));
            });
            if (is_finer) names.push_back(name);
        }
        return names;
    }

private:
    static bool is_finer_than(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const std::string& collation
    ) {
        std::string asking = "SELECT 1 WHERE 0";
        for (const std::string other : {"'A'", "'a '"}) {
            asking += " OR " + count_of(table, column, "'a'", other) + " = 1 AND 'a' <> " + other +
                      " COLLATE " + name_of(collation);
        }
        return !inside.execute(asking).rows.empty();
    }
};

}  // namespace

std::unique_ptr<equality_store> make_sqlite_equality_store() {
    return std::make_unique<sqlite_equality_store>();
}

}  // namespace leasehold
