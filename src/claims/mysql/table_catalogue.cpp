// Tables of the user's own as the catalogues of MySQL and MariaDB describe them, and tests for
// different values that a column compares as equal.
#include "claims/mysql/table_catalogue.hpp"

#include "leasehold/error.hpp"
#include "sql/row_columns.hpp"

namespace leasehold::mysql_dialect {
namespace {

constexpr std::string_view columns_sql = R"sql(
SELECT c.column_name AS name, c.data_type AS word, c.column_type AS type,
       c.is_nullable AS is_nullable, t.engine AS engine, t.table_type AS table_type,
       c.generation_expression AS made_of, c.character_maximum_length AS max_length,
       c.datetime_precision AS fraction_digits
  FROM information_schema.columns c
  JOIN information_schema.tables t
    ON t.table_schema = c.table_schema AND t.table_name = c.table_name
 WHERE c.table_name = ? AND c.table_schema = )sql";
constexpr std::string_view columns_order_sql = " ORDER BY c.ordinal_position";

// One more column says that the planner may not use it: is_ignored YES on MariaDB, is_visible NO on
// MySQL.
constexpr std::string_view indexes_sql =
    "SELECT s.index_name AS name, s.non_unique AS is_not_unique, s.column_name AS column_name,"
    " s.collation AS direction, s.sub_part AS prefix_length, ";
constexpr std::string_view indexes_where_sql = R"sql(
  FROM information_schema.statistics s
 WHERE s.index_type = 'BTREE' AND s.table_name = ? AND s.table_schema = )sql";
constexpr std::string_view indexes_order_sql = " ORDER BY s.index_name, s.seq_in_index";

// True when the session's clock is another hour in July than in January (of 2026).
constexpr std::string_view daylight_saving_sql = R"sql(
SELECT TIMESTAMPDIFF(SECOND, FROM_UNIXTIME(1767225600), FROM_UNIXTIME(1782864000)) <> 15638400
)sql";

// The tests of session.sql: any Galera cluster, and a group of MySQL's in which all are primaries.
constexpr std::string_view galera_sql = "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'";
constexpr std::string_view group_sql =
    "SHOW GLOBAL VARIABLES LIKE 'group_replication_single_primary_mode'";

column_kind kind_of(const std::string& type) {
    const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
    if (has("int") && type != "point") return column_kind::integer;
    if (type == "decimal" || type == "double" || type == "float" || type == "bit" ||
        type == "year") {
        return column_kind::number;
    }
    if (has("char") || has("text") || type == "enum") return column_kind::text;
    if (has("binary") || has("blob")) return column_kind::bytes;
    if (type == "timestamp") return column_kind::instant;
    if (type == "datetime") return column_kind::utc;
    return column_kind::other;
}

int bits_of(const std::string& type) {
    if (type == "tinyint") return 8;
    if (type == "smallint") return 16;
    if (type == "mediumint") return 24;
    return type == "int" ? 32 : 64;
}

// The labels in enum('a','it''s','b\\c'): the server doubles quotes, and escapes the backslash, the
// ends of lines and the zero byte. A character of four bytes comes as a question mark, since the
// catalogue is utf8mb3: then the labels are not known.
std::vector<std::string> labels_of(const std::string& type) {
    std::vector<std::string> labels;
    if (type.find('?') != std::string::npos) return labels;
    bool is_within = false;
    for (std::size_t at = 0; at < type.size(); ++at) {
        const char each = type[at];
        const char next = at + 1 < type.size() ? type[at + 1] : '\0';
        if (!is_within) {
            is_within = each == '\'';
            if (is_within) labels.emplace_back();
        } else if (each == '\'' && next != '\'') {
            is_within = false;
        } else if (each == '\\') {
            labels.back() += next == 'n' ? '\n' : next == 'r' ? '\r' : next == '0' ? '\0' : next;
            ++at;
        } else {
            labels.back() += each;
            if (each == '\'') ++at;
        }
    }
    return labels;
}

column_shape column_of(const row& from) {
    const std::string& word = from.bytes("word");
    column_shape column;
    column.name = from.bytes("name");
    column.kind = kind_of(word);
    column.type = from.bytes("type");
    column.is_nullable = from.bytes("is_nullable") == "YES";
    column.is_unsigned = column.type.find("unsigned") != std::string::npos;
    column.bits = bits_of(word);
    if (word == "enum") column.labels = labels_of(column.type);
    column.is_generated = !text_or_empty(from, "made_of").empty();
    const bool has_length = word.find("char") != std::string::npos;
    if (has_length && !from.is_null("max_length")) column.max_length = from.integer("max_length");
    if (!from.is_null("fraction_digits")) {
        column.fraction_digits = static_cast<int>(from.integer("fraction_digits"));
    }
    return column;
}

// ------------------------------------------------------------------------- equality of values

// Different values that a column compares as equal: by default those that differ only in case or
// accents, and with most collations in blanks at the end.

constexpr std::string_view column_sql = R"sql(
SELECT c.column_type AS type, c.data_type AS word, c.collation_name AS collation_name
  FROM information_schema.columns c
 WHERE c.table_name = ? AND c.column_name = ? AND c.table_schema = )sql";

// A column that holds the value at its place, in the FROM of a statement: of the very type and
// collation, so that it converts, rounds, pads and compares as the table's own does. A value that
// the type does not have becomes null there.
std::string held_as(const row& column, std::string_view alias) {
    std::string type = column.bytes("type");
    const std::string& word = column.bytes("word");
    if (word.find("binary") != std::string::npos || word.find("blob") != std::string::npos) {
        // JSON has no bytes. BINARY(n) alone changes a value.
        const std::string held = word == "binary" ? "CAST(? AS " + type + ")" : "?";
        return "(SELECT " + held + " AS c) AS " + std::string{alias};
    }
    // MariaDB takes no SET there, and the catalogue may lack labels of an enumeration.
    if (word == "enum" || word == "set") type = "VARCHAR(255)";
    const std::string collation = text_or_empty(column, "collation_name");
    if (!collation.empty()) {
        type += " CHARACTER SET " + collation.substr(0, collation.find('_'));
        type += " COLLATE " + collation;
    }
    return "JSON_TABLE(JSON_ARRAY(?), '$[*]' COLUMNS (c " + type + " PATH '$')) AS " +
           std::string{alias};
}

// InnoDB's secondary indexes end with the columns of the primary key they do not have.
void append_primary_key(table_shape& found) {
    std::vector<index_shape::part> key;
    for (const index_shape& each : found.indexes) {
        if (each.is_primary) key = each.parts;
    }
    for (index_shape& each : found.indexes) {
        if (each.is_primary) continue;
        each.parts.insert(each.parts.end(), key.begin(), key.end());
    }
}

}  // namespace

bool mysql_catalogue::lacks_index(const error& failure) const {
    constexpr int no_such_key = 1176;
    return failure.native_code() == no_such_key;
}

// MODIFY takes the whole definition: the reader must add the other parts that the column has.
std::string mysql_catalogue::change_column_text(
    const qualified_name& table, const column_change& wanted
) const {
    const column_shape& column = wanted.column;
    std::string_view type = column.type;
    bool is_nullable = column.is_nullable;
    switch (wanted.wish) {
        case column_wish::add:
            return plain_table_store::change_column_text(table, wanted);
        case column_wish::allow_null:
            is_nullable = true;
            break;
        case column_wish::forbid_null:
            is_nullable = false;
            break;
        case column_wish::widen:
            type = column.kind == column_kind::instant ? "TIMESTAMP(6)" : type_of(column.kind);
            break;
    }
    claim_statement text = begin("ALTER TABLE ");
    text.table(table).sql(" MODIFY COLUMN ").name(column.name, "").sql(" ").sql(type);
    return text.sql(is_nullable ? " NULL" : " NOT NULL").text();
}

table_shape mysql_catalogue::look_up(connection& inside, const qualified_name& table) const {
    // No expression over literals: on a connection whose own collation is another than the
    // server's default, as libmariadb makes it on MySQL, that is error 1267.
    const bool is_here = table.schema.empty();
    parameters which{table.name};
    if (!is_here) which.emplace_back(table.schema);
    const auto asked = [&](std::string_view what, std::string_view order) {
        std::string sql{what};
        return inside.execute(sql.append(is_here ? "DATABASE()" : "?").append(order), which);
    };
    table_shape found;
    for (const row& each : asked(columns_sql, columns_order_sql).rows) {
        found.columns.push_back(column_of(each));
        if (text_or_empty(each, "table_type") != "BASE TABLE")
            found.unfit = "it is not a table";
        else if (text_or_empty(each, "engine") != "InnoDB") {
            found.unfit = "its engine locks no rows: make it ENGINE=InnoDB";
        }
    }
    std::string indexes{indexes_sql};
    indexes.append(is_mariadb_ ? "s.ignored AS is_ignored" : "s.is_visible AS is_visible");
    indexes.append(indexes_where_sql);
    for (const row& each : asked(indexes, indexes_order_sql).rows) {
        if (found.indexes.empty() || found.indexes.back().name != each.bytes("name")) {
            index_shape& next = found.indexes.emplace_back();
            next.name = each.bytes("name");
            next.is_unique = each.integer("is_not_unique") == 0;
            next.is_primary = next.name == "PRIMARY";
            next.is_ignored =
                is_mariadb_ ? each.bytes("is_ignored") == "YES" : each.bytes("is_visible") == "NO";
        }
        index_shape& index = found.indexes.back();
        const bool is_descending = text_or_empty(each, "direction") == "D";
        const bool is_prefix = !each.is_null("prefix_length");
        index.parts.push_back({text_or_empty(each, "column_name"), is_descending, is_prefix});
        ++index.own_parts;
    }
    append_primary_key(found);
    const auto is_so = [&](std::string_view question, const char* value) {
        const result said = inside.execute(question);
        return !said.rows.empty() && said.rows[0].bytes("Value") == value;
    };
    found.has_several_writers = is_so(galera_sql, "ON") || is_so(group_sql, "OFF");
    found.has_daylight_saving = only_integer(inside.execute(daylight_saving_sql)) == 1;
    return found;
}

std::optional<std::string> mysql_catalogue::taken_for_one(
    connection& inside,
    const qualified_name& table,
    const std::string& column,
    const value& one,
    const value& other
) const {
    const bool is_here = table.schema.empty();
    parameters which{table.name, column};
    if (!is_here) which.emplace_back(table.schema);
    std::string looking{column_sql};
    const result found = inside.execute(looking.append(is_here ? "DATABASE()" : "?"), which);
    const row& shape = found.rows.at(0);
    const std::string asking = "SELECT 1 FROM " + held_as(shape, "x") + " JOIN " +
                               held_as(shape, "y") + " WHERE x.c = ? OR y.c = ? OR x.c = y.c";
    if (inside.execute(asking, {one, other, other, one}).rows.empty()) return std::nullopt;
    const std::string& type = shape.bytes("type");
    const std::string collation = text_or_empty(shape, "collation_name");
    return collation.empty() ? type : type + " with collation " + collation;
}

}  // namespace leasehold::mysql_dialect
