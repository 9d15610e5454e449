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
#include "dialect/mysql/table_catalogue.hpp"
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

// ---------------------------------------------------------------------------------- the store

class mysql_table_store final : public mysql_catalogue {
public:
    explicit mysql_table_store(engine which)
        : mysql_catalogue(words, which == engine::mariadb),
          share_(is_mariadb_ ? " LOCK IN SHARE MODE SKIP LOCKED" : " FOR SHARE SKIP LOCKED") {}

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

    const std::string_view share_;
};

}  // namespace

std::unique_ptr<table_store> make_table_store(engine which) {
    return std::make_unique<mysql_table_store>(which);
}

}  // namespace leasehold::mysql_dialect
