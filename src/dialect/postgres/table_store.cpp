// Claims on the user's tables on PostgreSQL, at READ COMMITTED.
//
// Nothing here may raise an error because of others, since an error ends the caller's transaction:
// no NOWAIT (55P03), no lock_timeout (55P03, and it is a setting), no wait that could close a
// circle (40P01). So each row is locked SKIP LOCKED in a materialised CTE, by its key, and changed
// in the same statement. LockRows tests the WHERE again on the newest version of a row that had
// changed since the snapshot; the UPDATE then finds a row that we hold, or none.
// Materialised, because the planner may otherwise run the locking query once per row it is joined
// with, and claim them all.
#include "store/table_store.hpp"
#include "dialect/claim_text.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/postgres/table_catalogue.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres_dialect {
namespace {

std::string as_kept(const std::string& clock, time_kind times) {
    switch (times) {
        case time_kind::instant:
            return clock;
        case time_kind::utc:
            return "(" + clock + " AT TIME ZONE 'UTC')";
        case time_kind::microseconds:
            break;
    }
    return "(extract(epoch FROM " + clock + ") * 1000000)::bigint";
}

// The clock at the moment of use, not of the transaction.
std::string now(time_kind times) {
    return as_kept("clock_timestamp()", times);
}
std::string began(time_kind times) {
    return as_kept("statement_timestamp()", times);
}

std::string later(time_kind times, const std::string& place) {
    if (times == time_kind::microseconds) return now(times) + " + " + place + "::bigint";
    return now(times) + " + " + place + "::bigint * interval '1 microsecond'";
}

std::string is_exactly(const std::string& column, const std::string& place) {
    return column + "::text COLLATE pg_catalog.\"C\" = " + place;
}

constexpr claim_words words{
    .quote = '"',
    .has_numbered_places = true,
    .set_prefix = "",
    .now = now,
    .began = began,
    .later = later,
    .is_exactly = is_exactly,
    .forces_indexes = false,
    .has_schema_before_index = false,
    .bytes_begin = "'\\x",
    .bytes_end = "'::bytea",
    .integer_type = "bigint",
    .number_type = "numeric",
    .text_type = "text",
    .bytes_type = "bytea",
    .instant_type = "timestamptz",
    .utc_type = "timestamp",
};

std::string_view strength_of(lock_strength strength) {
    switch (strength) {
        case lock_strength::update:
            return " FOR UPDATE OF t SKIP LOCKED";
        case lock_strength::no_key_update:
            return " FOR NO KEY UPDATE OF t SKIP LOCKED";
        case lock_strength::share:
            return " FOR SHARE OF t SKIP LOCKED";
        case lock_strength::key_share:
            return " FOR KEY SHARE OF t SKIP LOCKED";
    }
    return " FOR UPDATE OF t SKIP LOCKED";
}

// What the UPDATE itself will take, so that it never waits for more. FOR NO KEY UPDATE lets rows
// that refer to this one be inserted meanwhile; where a column that can be referred to is changed,
// those whose foreign keys are being checked are passed over like everybody else.
std::string_view strength_of(bool is_referable) {
    return strength_of(is_referable ? lock_strength::update : lock_strength::no_key_update);
}

// ---------------------------------------------------------------------------------- the store

class postgres_table_store final : public postgres_catalogue {
public:
    postgres_table_store() : postgres_catalogue(words) {}

    bool enter(connection& inside, const qualified_name&, claim_use) const override {
        const row said = inside
                             .execute(
                                 "SELECT current_setting('transaction_isolation'),"
                                 " current_setting('transaction_read_only')"
                             )
                             .rows.at(0);
        if (said.text(1) != "off") {
            throw error(
                errc::read_only,
                "a claim locks rows and this transaction is read-only, where that would abort it: "
                "begin it READ WRITE, on a server that is no replica"
            );
        }
        // READ UNCOMMITTED is another name of the same.
        const std::string& level = said.text(0);
        if (level == "read committed" || level == "read uncommitted") return true;
        throw error(
            errc::wrong_transaction,
            "a claim needs READ COMMITTED and this transaction is at " + level +
                ", where a row changed by somebody else would abort it: begin it with BEGIN "
                "ISOLATION LEVEL READ COMMITTED"
        );
    }

    bool claim(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& as_read,
        bool is_referable
    ) const override {
        claim_statement asking = begin("WITH mine AS MATERIALIZED (SELECT ");
        asking.key_as(mapping.key).from(mapping.table).sql(" WHERE ");
        asking.key_is(mapping.key, as_read.key).sql(" AND ").name(mapping.version).sql(" = ");
        asking.put(as_read.version).sql(" AND ").available(mapping).sql(strength_of(is_referable));
        asking.sql(") UPDATE ").table(mapping.table);
        asking.sql(" AS t SET ").set_claimed(mapping, as_read).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version).sql(" = ");
        return is_one(asking.put(as_read.version).run(inside).affected_rows, mapping);
    }

    change_outcome change(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to,
        bool is_referable
    ) const override {
        claim_statement asking = begin("WITH mine AS MATERIALIZED (SELECT ");
        asking.key_as(mapping.key).from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        asking.sql(strength_of(is_referable)).sql(") UPDATE ").table(mapping.table);
        asking.sql(" AS t SET ").set_changed(mapping, at, what, to).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version).sql(" = ");
        if (is_one(asking.put(at.version).run(inside).affected_rows, mapping)) {
            return change_outcome::done;
        }
        return may_be_locked(inside, mapping, at) ? change_outcome::busy : change_outcome::lost;
    }

    // Rolling back to a savepoint gives back the row locks taken since.
    std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const override {
        if (wanted.keys.empty()) return lock_rows(inside, wanted);
        inside.execute("SAVEPOINT leasehold_claim");
        auto rows = lock_rows(inside, wanted);
        const bool has_all = rows.size() == wanted.keys.size();
        if (!has_all) inside.execute("ROLLBACK TO SAVEPOINT leasehold_claim");
        inside.execute("RELEASE SAVEPOINT leasehold_claim");
        return rows;
    }

private:
    // A top-level SELECT: its LIMIT stands above the locking, so no plan returns more rows.
    std::vector<claimed_row> lock_rows(connection& inside, const row_request& wanted)
        const override {
        claim_statement asking = rows_text(wanted);
        asking.sql(" LIMIT ").put(wanted.limit).sql(strength_of(wanted.mapping.strength));
        return rows_of(asking.run(inside), wanted.mapping);
    }

    // A statement of its own is a snapshot of its own.
    bool may_be_locked(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const {
        claim_statement asking = begin("SELECT 1");
        asking.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        return !asking.run(inside).rows.empty();
    }
};

}  // namespace

std::unique_ptr<table_store> make_table_store() {
    return std::make_unique<postgres_table_store>();
}

}  // namespace leasehold::postgres_dialect
