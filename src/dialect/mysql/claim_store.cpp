// Claims on the user's tables on MySQL and MariaDB, at READ COMMITTED or REPEATABLE READ.
//
// An UPDATE cannot skip locked rows, a SELECT can: the row is locked SKIP LOCKED in a derived
// table, which its LIMIT keeps from being merged into the join, and changed by the same statement.
// Neither waits for anybody, so no wait can run out (1205, which with innodb_rollback_on_timeout
// rolls the caller's transaction back) and on MySQL no circle can close (1213, which always does).
// MariaDB's SKIP LOCKED enters the queue before it leaves it, and its deadlock detector may look in
// between: seen 27 times in 100,000 claims, each in a batch that tried rows in random order, so
// batches go in one direction. NOWAIT is no way: MariaDB reports it as 1205.
#include "dialect/claim_text.hpp"
#include "dialect/mysql/stores.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql_dialect {
namespace {

// The clock at the moment of use, in UTC whatever the time zone of the caller's session: SYSDATE
// goes on within a statement, and the other two differ by the zone alone.
constexpr std::string_view utc_now =
    "TIMESTAMPADD(SECOND, TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()), SYSDATE(6))";

std::string now(time_kind times) {
    switch (times) {
        case time_kind::instant:
            return "SYSDATE(6)";  // in the session's zone, as TIMESTAMP columns are
        case time_kind::utc:
            return std::string{utc_now};
        case time_kind::microseconds:
            break;
    }
    return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + std::string{utc_now} + ")";
}

std::string later(time_kind times, const std::string& place) {
    if (times == time_kind::microseconds) return now(times) + " + " + place;
    return now(times) + " + INTERVAL " + place + " MICROSECOND";
}

constexpr claim_words words{
    .quote = '`',
    .has_numbered_places = false,
    .set_prefix = "t.",
    .now = now,
    .later = later,
    .forces_indexes = true,
    .integer_type = "BIGINT",
    .number_type = "DECIMAL(20, 6)",
    .text_type = "VARCHAR(255)",
    .bytes_type = "VARBINARY(255)",
    .instant_type = "TIMESTAMP(6) NULL",
    .utc_type = "DATETIME(6)",
};

constexpr std::string_view columns_sql = R"sql(
SELECT c.column_name, c.data_type, c.column_type, c.is_nullable, t.engine, t.table_type
  FROM information_schema.columns c
  JOIN information_schema.tables t
    ON t.table_schema = c.table_schema AND t.table_name = c.table_name
 WHERE c.table_name = ? AND c.table_schema = )sql";
constexpr std::string_view columns_order_sql = " ORDER BY c.ordinal_position";

constexpr std::string_view indexes_sql = R"sql(
SELECT s.index_name, s.non_unique, s.column_name, s.collation
  FROM information_schema.statistics s
 WHERE s.index_type = 'BTREE' AND s.table_name = ? AND s.table_schema = )sql";
constexpr std::string_view indexes_order_sql = " ORDER BY s.index_name, s.seq_in_index";

column_kind kind_of(const std::string& type) {
    if (type.find("int") != std::string::npos && type != "point") return column_kind::integer;
    if (type == "decimal" || type == "double" || type == "float") return column_kind::number;
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

class mysql_claim_store final : public plain_claim_store {
public:
    explicit mysql_claim_store(engine which)
        : plain_claim_store(words),
          share_(
              which == engine::mariadb ? " LOCK IN SHARE MODE SKIP LOCKED"
                                       : " FOR SHARE SKIP LOCKED"
          ) {}

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
            const bool is_nullable = each.bytes(3) == "YES";
            found.columns.push_back(
                {each.bytes(0), kind_of(each.bytes(1)), each.bytes(2), is_nullable}
            );
            if (each.is_null(5) || each.bytes(5) != "BASE TABLE")
                found.unfit = "it is not a table";
            else if (each.is_null(4) || each.bytes(4) != "InnoDB") {
                found.unfit = "its engine locks no rows: make it ENGINE=InnoDB";
            }
        }
        for (const row& each : asked(indexes_sql, indexes_order_sql).rows) {
            if (found.indexes.empty() || found.indexes.back().name != each.bytes(0)) {
                found.indexes.push_back({each.bytes(0), {}, 0, each.integer(1) == 0, false});
            }
            const bool is_descending = !each.is_null(3) && each.bytes(3) == "D";
            const std::string column = each.is_null(2) ? "" : each.bytes(2);
            found.indexes.back().parts.push_back({column, is_descending});
            ++found.indexes.back().own_parts;
        }
        append_primary_key(found);
        return found;
    }

    // What the session says: the level of the transaction itself cannot be asked for without the
    // PROCESS privilege. MariaDB's variable changed its name with 11.1.
    bool enter(connection& inside, const qualified_name&, claim_use what) const override {
        const server_info& server = inside.server();
        const bool has_old_name = server.engine == engine::mariadb && server.version < 110101;
        const std::string level =
            inside
                .execute(has_old_name ? "SELECT @@tx_isolation" : "SELECT @@transaction_isolation")
                .rows.at(0)
                .bytes(0);
        if (level == "READ-COMMITTED") return true;
        const bool may_repeat = what != claim_use::several_rows;
        if (level == "REPEATABLE-READ" && may_repeat) return true;
        throw error(
            errc::wrong_transaction,
            std::string{"this claim needs READ COMMITTED"} +
                (may_repeat ? " or REPEATABLE READ" : "") + " and the session is at " + level +
                ": SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED before the transaction"
        );
    }

    bool claim(connection& inside, const versioned_mapping& mapping, const versioned_row& as_read)
        const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t JOIN (SELECT ").key_as(mapping.key);
        asking.from(mapping.table).sql(" WHERE ").key_is(mapping.key, as_read.key).sql(" AND ");
        asking.name(mapping.version).sql(" = ").put(as_read.version).sql(" AND ");
        asking.available(mapping).sql(" LIMIT 1 FOR UPDATE SKIP LOCKED) AS mine ON ");
        asking.key_is_mine(mapping.key).sql(" SET ").set_claimed(mapping).sql(" WHERE ");
        asking.name(mapping.version).sql(" = ").put(as_read.version);
        return asking.run(inside).affected_rows == 1;
    }

    // Changed, not matched, rows: the version always changes, so both counts are the same with and
    // without CLIENT_FOUND_ROWS.
    bool change(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to
    ) const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t JOIN (SELECT ").key_as(mapping.key);
        asking.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        asking.sql(" LIMIT 1 FOR UPDATE SKIP LOCKED) AS mine ON ").key_is_mine(mapping.key);
        asking.sql(" SET ").set_changed(mapping, at, what, to).sql(" WHERE ");
        asking.name(mapping.version).sql(" = ").put(at.version);
        return asking.run(inside).affected_rows == 1;
    }

    // A locking read sees the newest version also at REPEATABLE READ: a row it gets is not locked
    // by others, and is either still ours or not. What it does not get is locked, or gone.
    bool may_be_locked(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const override {
        claim_statement newest = begin("SELECT CASE WHEN ");
        newest.still_is(mapping, at).sql(" THEN 1 ELSE 0 END").from(mapping.table).sql(" WHERE ");
        newest.key_is(mapping.key, at.key).sql(share_);
        const result found = newest.run(inside);
        if (!found.rows.empty()) return found.rows[0].integer(0) == 1;
        claim_statement plain = begin("SELECT 1");
        plain.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        return !plain.run(inside).rows.empty();
    }

    std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const override {
        claim_statement asking = rows_text(wanted);
        asking.sql(" LIMIT ").put(wanted.limit);
        const bool is_shared = wanted.mapping.strength == lock_strength::share;
        asking.sql(is_shared ? share_ : " FOR UPDATE SKIP LOCKED");
        return rows_of(asking.run(inside), wanted.mapping);
    }

private:
    // InnoDB's secondary indexes end with the columns of the primary key they do not have.
    static void append_primary_key(table_shape& found) {
        std::vector<index_shape::part> key;
        for (const index_shape& each : found.indexes) {
            if (each.name == "PRIMARY") key = each.parts;
        }
        for (index_shape& each : found.indexes) {
            if (each.name == "PRIMARY") continue;
            each.parts.insert(each.parts.end(), key.begin(), key.end());
        }
    }

    const std::string_view share_;
};

}  // namespace

std::unique_ptr<claim_store> make_claim_store(engine which) {
    return std::make_unique<mysql_claim_store>(which);
}

}  // namespace leasehold::mysql_dialect
