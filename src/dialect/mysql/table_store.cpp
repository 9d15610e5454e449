// Claims on the user's tables on MySQL and MariaDB, at READ COMMITTED or REPEATABLE READ.
//
// An UPDATE cannot skip locked rows, a SELECT can: the row is locked SKIP LOCKED in a derived
// table, which its LIMIT keeps from being merged into the join, and changed by the same statement.
// Neither waits for anybody, so no wait can run out (1205, which with innodb_rollback_on_timeout
// rolls the caller's transaction back) and on MySQL no circle can close (1213, which always does).
// MariaDB's SKIP LOCKED enters the queue before it leaves it, and its deadlock detector may look in
// between: seen 27 times in 100,000 claims, each in a batch that tried rows in random order, so
// batches go in one direction. NOWAIT is no way: MariaDB reports it as 1205.
#include "store/table_store.hpp"
#include "dialect/claim_text.hpp"
#include "dialect/mysql/stores.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql_dialect {
namespace {

// The clock at the moment of use, in UTC whatever the time zone of the caller's session: SYSDATE
// goes on within a statement, and the other two differ by the zone alone.
constexpr std::string_view utc_now =
    "TIMESTAMPADD(SECOND, TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()), SYSDATE(6))";

// A clock in the session's zone, as TIMESTAMP columns are, and the same in UTC.
std::string as_kept(std::string_view local, std::string_view utc, time_kind times) {
    switch (times) {
        case time_kind::instant:
            return std::string{local};
        case time_kind::utc:
            return std::string{utc};
        case time_kind::microseconds:
            break;
    }
    return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + std::string{utc} + ")";
}

std::string now(time_kind times) {
    return as_kept("SYSDATE(6)", utc_now, times);
}

std::string began(time_kind times) {
    return as_kept("NOW(6)", "UTC_TIMESTAMP(6)", times);
}

std::string later(time_kind times, const std::string& place) {
    if (times == time_kind::microseconds) return now(times) + " + " + place;
    return now(times) + " + INTERVAL " + place + " MICROSECOND";
}

std::string is_exactly(const std::string& column, const std::string& place) {
    const auto bytes_of = [](const std::string& text) {
        return "CAST(CONVERT(" + text + " USING utf8mb4) AS BINARY)";
    };
    return bytes_of(column) + " = " + bytes_of(place);
}

constexpr claim_words words{
    .quote = '`',
    .has_numbered_places = false,
    .set_prefix = "t.",
    .now = now,
    .began = began,
    .later = later,
    .is_exactly = is_exactly,
    .forces_indexes = true,
    .has_schema_before_index = false,
    .bytes_begin = "x'",
    .bytes_end = "'",
    .integer_type = "BIGINT",
    .number_type = "DECIMAL(20, 6)",
    .text_type = "VARCHAR(255)",
    .bytes_type = "VARBINARY(255)",
    .instant_type = "TIMESTAMP(6) NULL",
    .utc_type = "DATETIME(6)",
};

constexpr std::string_view columns_sql = R"sql(
SELECT c.column_name, c.data_type, c.column_type, c.is_nullable, t.engine, t.table_type,
       c.generation_expression, c.character_maximum_length, c.datetime_precision
  FROM information_schema.columns c
  JOIN information_schema.tables t
    ON t.table_schema = c.table_schema AND t.table_name = c.table_name
 WHERE c.table_name = ? AND c.table_schema = )sql";
constexpr std::string_view columns_order_sql = " ORDER BY c.ordinal_position";

// The last column says that the planner may not use it: `ignored` YES, `is_visible` NO.
constexpr std::string_view indexes_sql =
    "SELECT s.index_name, s.non_unique, s.column_name, s.collation, s.sub_part, ";
constexpr std::string_view indexes_where_sql = R"sql(
  FROM information_schema.statistics s
 WHERE s.index_type = 'BTREE' AND s.table_name = ? AND s.table_schema = )sql";
constexpr std::string_view indexes_order_sql = " ORDER BY s.index_name, s.seq_in_index";

// Whether the session's clock is another hour in July than in January (of 2026).
constexpr std::string_view daylight_saving_sql = R"sql(
SELECT TIMESTAMPDIFF(SECOND, FROM_UNIXTIME(1767225600), FROM_UNIXTIME(1782864000)) <> 15638400
)sql";

column_kind kind_of(const std::string& type) {
    if (type.find("int") != std::string::npos && type != "point") return column_kind::integer;
    if (type == "decimal" || type == "double" || type == "float" || type == "bit" ||
        type == "year") {
        return column_kind::number;
    }
    if (type.find("char") != std::string::npos || type.find("text") != std::string::npos ||
        type == "enum") {
        return column_kind::text;
    }
    if (type.find("binary") != std::string::npos || type.find("blob") != std::string::npos) {
        return column_kind::bytes;
    }
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

// Of enum('a','it''s','b\\c'): the server doubles quotes, and escapes the backslash, the ends of
// lines and the zero byte. A character of four bytes comes as a question mark, since the catalogue
// is utf8mb3: where there is one, the labels are not known.
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
    const std::string& word = from.bytes(1);
    column_shape column;
    column.name = from.bytes(0);
    column.kind = kind_of(word);
    column.type = from.bytes(2);
    column.is_nullable = from.bytes(3) == "YES";
    column.is_unsigned = column.type.find("unsigned") != std::string::npos;
    column.bits = bits_of(word);
    if (word == "enum") column.labels = labels_of(column.type);
    column.is_generated = !from.is_null(6) && !from.bytes(6).empty();
    const bool has_length = word.find("char") != std::string::npos;
    if (has_length && !from.is_null(7)) column.length_max = from.integer(7);
    if (!from.is_null(8)) column.fraction_digits = static_cast<int>(from.integer(8));
    return column;
}

// ------------------------------------------------------------------------- equality of values

// What a column takes for one value: by default whatever differs in case or accent alone, and with
// most collations in blanks at the end.

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

// ---------------------------------------------------------------------------------- the store

class mysql_table_store final : public plain_table_store {
public:
    explicit mysql_table_store(engine which)
        : plain_table_store(words),
          share_(
              which == engine::mariadb ? " LOCK IN SHARE MODE SKIP LOCKED"
                                       : " FOR SHARE SKIP LOCKED"
          ),
          is_mariadb_(which == engine::mariadb) {}

    bool lacks_index(const error& failure) const override {
        constexpr int no_such_key = 1176;
        return failure.native_code() == no_such_key;
    }

    // MODIFY takes the whole definition: people see to what else the column has.
    std::string change_column_text(const qualified_name& table, const column_change& wanted)
        const override {
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

    table_shape look_up(connection& inside, const qualified_name& table) const override {
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
            if (each.is_null(5) || each.bytes(5) != "BASE TABLE")
                found.unfit = "it is not a table";
            else if (each.is_null(4) || each.bytes(4) != "InnoDB") {
                found.unfit = "its engine locks no rows: make it ENGINE=InnoDB";
            }
        }
        std::string indexes{indexes_sql};
        indexes.append(is_mariadb_ ? "s.ignored" : "s.is_visible").append(indexes_where_sql);
        for (const row& each : asked(indexes, indexes_order_sql).rows) {
            if (found.indexes.empty() || found.indexes.back().name != each.bytes(0)) {
                index_shape& next = found.indexes.emplace_back();
                next.name = each.bytes(0);
                next.is_unique = each.integer(1) == 0;
                next.is_primary = next.name == "PRIMARY";
                next.is_ignored = each.bytes(5) == (is_mariadb_ ? "YES" : "NO");
            }
            index_shape& index = found.indexes.back();
            const bool is_descending = !each.is_null(3) && each.bytes(3) == "D";
            const std::string column = each.is_null(2) ? "" : each.bytes(2);
            index.parts.push_back({column, is_descending, !each.is_null(4)});
            ++index.own_parts;
        }
        append_primary_key(found);
        found.has_daylight_saving = inside.execute(daylight_saving_sql).rows.at(0).integer(0) == 1;
        return found;
    }

    bool enter(connection& inside, const qualified_name&, claim_use what) const override {
        const std::string level = session_isolation(inside);
        if (level == "READ-COMMITTED") return true;
        const bool may_repeat = what != claim_use::several_rows;
        const bool is_repeatable = level == "REPEATABLE-READ" && may_repeat;
        const bool is_strict = is_repeatable && rolls_back_for_newer_rows(inside);
        if (is_repeatable && !is_strict) return true;
        throw error(
            errc::wrong_transaction,
            std::string{"this claim needs READ COMMITTED"} +
                (may_repeat && !is_strict ? " or REPEATABLE READ" : "") +
                " and the session is at " + level +
                (is_strict ? " with innodb_snapshot_isolation, where a row changed by somebody "
                             "else would roll the transaction back"
                           : "") +
                ": SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED before the transaction"
        );
    }

    bool claim(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& as_read,
        bool /*is_referable*/
    ) const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t JOIN (SELECT ").key_as(mapping.key);
        asking.from(mapping.table).sql(" WHERE ").key_is(mapping.key, as_read.key).sql(" AND ");
        asking.name(mapping.version).sql(" = ").put(as_read.version).sql(" AND ");
        asking.available(mapping).sql(" LIMIT 1 FOR UPDATE SKIP LOCKED) AS mine ON ");
        asking.key_is_mine(mapping.key).sql(" SET ").set_claimed(mapping, as_read).sql(" WHERE ");
        asking.name(mapping.version).sql(" = ").put(as_read.version);
        return is_one(asking.run(inside).affected_rows, mapping);
    }

    // Changed, not matched, rows: the version always changes, so both counts are the same with and
    // without CLIENT_FOUND_ROWS.
    change_outcome change(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to,
        bool /*is_referable*/
    ) const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t JOIN (SELECT ").key_as(mapping.key);
        asking.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        asking.sql(" LIMIT 1 FOR UPDATE SKIP LOCKED) AS mine ON ").key_is_mine(mapping.key);
        asking.sql(" SET ").set_changed(mapping, at, what, to).sql(" WHERE ");
        asking.name(mapping.version).sql(" = ").put(at.version);
        if (is_one(asking.run(inside).affected_rows, mapping)) return change_outcome::done;
        return may_be_locked(inside, mapping, at) ? change_outcome::busy : change_outcome::lost;
    }

    // InnoDB keeps the lock of a row it has found by its key, also where the row is not as wanted.
    bool looks_unchanged(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const override {
        claim_statement plain = begin("SELECT 1");
        plain.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        return !plain.run(inside).rows.empty();
    }

    // As may_be_locked(): at REPEATABLE READ the plain look may show for ever what has long been.
    claimed_rows lock_by_key(connection& inside, const row_request& wanted) const override {
        claimed_rows got = plain_table_store::lock_by_key(inside, wanted);
        if (got.status != claim_status::busy) return got;
        if (session_isolation(inside) == "READ-COMMITTED") return got;
        claim_statement newest = begin("SELECT CASE WHEN ");
        newest.all_of(wanted.where, wanted.mapping.times).sql(" THEN 1 ELSE 0 END");
        newest.from(wanted.mapping.table).sql(" WHERE ");
        newest.key_is(wanted.mapping.key, wanted.keys.at(0)).sql(locking(wanted.mapping.strength));
        const result found = newest.run(inside);
        if (found.rows.empty()) return got;
        if (found.rows[0].integer(0) == 0) return {claim_status::none, {}};
        return plain_table_store::lock_by_key(inside, wanted);  // it was let go in between
    }

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

private:
    std::vector<claimed_row> lock_rows(connection& inside, const row_request& wanted)
        const override {
        claim_statement asking = rows_text(wanted);
        asking.sql(" LIMIT ").put(wanted.limit).sql(locking(wanted.mapping.strength));
        return rows_of(asking.run(inside), wanted.mapping);
    }

    // At READ COMMITTED a plain read sees what was committed. The snapshot of REPEATABLE READ may
    // only show what has long been: there a locking read sees the newest version, and a row it gets
    // is locked by nobody else, and is either still ours or not. FOR UPDATE, since of two that
    // shared it neither could go on.
    bool may_be_locked(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const {
        if (!looks_unchanged(inside, mapping, at)) return false;
        if (session_isolation(inside) == "READ-COMMITTED") return true;
        claim_statement newest = begin("SELECT CASE WHEN ");
        newest.still_is(mapping, at).sql(" THEN 1 ELSE 0 END").from(mapping.table).sql(" WHERE ");
        newest.key_is(mapping.key, at.key).sql(" FOR UPDATE SKIP LOCKED");
        const result found = newest.run(inside);
        return found.rows.empty() || found.rows[0].integer(0) == 1;
    }

    std::string_view locking(lock_strength strength) const {
        return strength == lock_strength::share ? share_ : " FOR UPDATE SKIP LOCKED";
    }

    // MariaDB: error 1020, and the whole transaction is rolled back, where a row to be locked is
    // newer than the snapshot. Older servers have no such variable; since 11.6 it is on.
    bool rolls_back_for_newer_rows(connection& inside) const {
        if (!is_mariadb_) return false;
        const result said = inside.execute(
            "SHOW SESSION VARIABLES WHERE Variable_name = 'innodb_snapshot_isolation'"
        );
        return !said.rows.empty() && said.rows[0].bytes(1) == "ON";
    }

    // InnoDB's secondary indexes end with the columns of the primary key they do not have.
    static void append_primary_key(table_shape& found) {
        std::vector<index_shape::part> key;
        for (const index_shape& each : found.indexes) {
            if (each.is_primary) key = each.parts;
        }
        for (index_shape& each : found.indexes) {
            if (each.is_primary) continue;
            each.parts.insert(each.parts.end(), key.begin(), key.end());
        }
    }

    const std::string_view share_;
    const bool is_mariadb_;
};

}  // namespace

std::unique_ptr<table_store> make_table_store(engine which) {
    return std::make_unique<mysql_table_store>(which);
}

}  // namespace leasehold::mysql_dialect
