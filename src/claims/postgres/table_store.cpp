// Claims on the user's tables on PostgreSQL, at READ COMMITTED.
//
// Nothing here may raise an error because of others, since an error ends the caller's transaction:
// no NOWAIT (55P03), no lock_timeout (55P03, and it is a setting), no wait that could close a
// circle (40P01). So each row is locked SKIP LOCKED in a materialised CTE, by its key, and changed
// in the same statement. LockRows tests the WHERE again on the newest version of a row that had
// changed since the snapshot; the UPDATE then finds a row that we hold, or none.
// Materialised, because the planner may otherwise run the locking query once per row it is joined
// with, and claim them all. Of many rows each is looked up by its key, LATERAL, so that this is the
// only possible plan, whatever the statistics say.
#include "claims/table_store.hpp"
#include <algorithm>
#include <bit>
#include "claims/sql_stores.hpp"

#include "claims/postgres/table_catalogue.hpp"
#include "leasehold/error.hpp"
#include "sql/postgres/array_columns.hpp"
#include "sql/postgres/dialect.hpp"
#include "sql/row_columns.hpp"

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

// The lock that the UPDATE itself will take, so that it never waits for more. FOR NO KEY UPDATE
// lets rows that refer to this one be inserted meanwhile. If a referable column is changed, the
// claim passes over rows whose foreign keys are being checked, as over all locked rows.
std::string_view strength_of(bool is_referable) {
    return strength_of(is_referable ? lock_strength::update : lock_strength::no_key_update);
}

// ---------------------------------------------------------------------------------- the store

class postgres_table_store final : public postgres_catalogue {
public:
    postgres_table_store() : postgres_catalogue(words) {}

    bool enter(connection& inside, const qualified_name&, claim_use) const override {
        if (inside.is_untouched()) return true;
        const row said = inside
                             .execute(
                                 "SELECT current_setting('transaction_isolation') AS level,"
                                 " current_setting('transaction_read_only') AS is_read_only"
                             )
                             .rows.at(0);
        if (said.text("is_read_only") != "off") {
            throw error(
                errc::read_only,
                "a claim locks rows and this transaction is read-only, where that would abort it: "
                "begin it READ WRITE, on a server that is no replica"
            );
        }
        // READ UNCOMMITTED is another name of READ COMMITTED.
        const std::string& level = said.text("level");
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
        asking.sql(") UPDATE ").table(mapping.table).sql(" AS t SET ");
        asking.set_claimed(mapping, as_read.claimed_as).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version).sql(" = ");
        return is_one(asking.put(as_read.version).run(inside).affected_rows, mapping);
    }

    // One statement: the snapshot shows the rows that look available; they are locked one by one as
    // long as some are missing, which tests all of it again on the newest version, and changed. The
    // last LIMIT is a subquery, which the planner takes for a tenth of the rows, so that rows are
    // changed by the index of their keys and not by a scan.
    several_claimed claim_several(connection& inside, const several_request& wanted)
        const override {
        const versioned_mapping& mapping = wanted.mapping;
        claim_statement asking =
            begin("WITH seen AS MATERIALIZED (SELECT row_number() OVER () AS place, c.* FROM (");
        ranges(asking, wanted, mapping.key);
        asking.sql(") AS c), mine AS MATERIALIZED (SELECT s.place, m.* FROM (SELECT * FROM seen");
        asking.sql(wanted.is_shuffled ? " ORDER BY random()" : " ORDER BY place");
        asking.sql(") AS s CROSS JOIN LATERAL (SELECT ").key_as(mapping.key).sql(", ");
        asking.name(mapping.version).sql(" AS v");
        for (std::size_t at = 0; at < mapping.columns.size(); ++at) {
            asking.sql(", ").name(mapping.columns[at]).sql(" AS c" + std::to_string(at));
        }
        asking.from(mapping.table).sql(" WHERE ");
        for (std::size_t at = 0; at < mapping.key.size(); ++at) {
            asking.name(mapping.key[at]).sql(" = s.c" + std::to_string(at) + " AND ");
        }
        asking.open(mapping).sql(" AND ").all_of(wanted.where, mapping.times).sql(" AND ");
        asking.name(mapping.version).sql(" < ").put(wanted.version_most);
        asking.sql(strength_of(wanted.is_referable)).sql(") AS m LIMIT (SELECT ");
        asking.put(wanted.count).sql("::bigint)) UPDATE ").table(mapping.table).sql(" AS t SET ");
        asking.set_claimed(mapping, wanted.claimed_as).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version);
        asking.sql(" = mine.v RETURNING mine.*");
        result found = asking.run(inside);
        require_at_most(static_cast<std::size_t>(wanted.count), found.affected_rows, mapping);
        std::ranges::sort(found.rows, {}, [](const row& each) { return each.integer("place"); });
        several_claimed got;
        constexpr std::size_t key = 1;  // behind `place`
        for (const row& each : found.rows) {
            got.rows.push_back(
                versioned_row_of(each, key, mapping.key.size(), mapping.columns.size())
            );
        }
        const bool is_short = got.rows.size() < static_cast<std::size_t>(wanted.count);
        got.has_passed_over = is_short && shows_full(inside, wanted);
        return got;
    }

    change_outcome change(connection& inside, const change_request& wanted, const versioned_row& at)
        const override {
        const versioned_mapping& mapping = wanted.mapping;
        claim_statement asking = begin("WITH mine AS MATERIALIZED (SELECT ");
        asking.key_as(mapping.key).from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        asking.sql(strength_of(wanted.is_referable)).sql(") UPDATE ").table(mapping.table);
        asking.sql(" AS t SET ").set_changed(wanted, at.is_claimed).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version).sql(" = ");
        if (is_one(asking.put(at.version).run(inside).affected_rows, mapping)) {
            return change_outcome::done;
        }
        return may_be_locked(inside, mapping, at) ? change_outcome::busy : change_outcome::lost;
    }

    std::vector<change_outcome> change_several(
        connection& inside, const change_request& wanted, std::span<const versioned_row> rows
    ) const override {
        std::vector<change_outcome> outcomes;
        while (!rows.empty()) {
            const auto part = rows.first(std::min(rows.size(), max_rows));
            rows = rows.subspan(part.size());
            const auto given = part.size() == 1 ? std::nullopt : array_columns_of(wanted, part);
            if (given) {
                const auto of_part = change_part(inside, wanted, part, *given);
                outcomes.insert(outcomes.end(), of_part.begin(), of_part.end());
            } else {
                for (const versioned_row& each : part) {
                    outcomes.push_back(change(inside, wanted, each));
                }
            }
        }
        return outcomes;
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
    static constexpr std::size_t max_rows = 1000;  // in a statement

    // The LIMIT stands above the locking, so no plan locks more rows than are asked for. It is a
    // literal and a power of two, and the exact one above it, for the reason of ranges().
    std::vector<claimed_row> lock_rows(connection& inside, const row_request& wanted)
        const override {
        const auto limit = std::bit_ceil(static_cast<unsigned>(wanted.limit));
        claim_statement asking = rows_text(wanted, "SELECT * FROM (");
        asking.sql(" LIMIT " + std::to_string(limit)).sql(strength_of(wanted.mapping.strength));
        asking.sql(") AS first LIMIT ").put(wanted.limit);
        return rows_of(asking.run(inside), wanted.mapping);
    }

    std::vector<change_outcome> change_part(
        connection& inside,
        const change_request& wanted,
        std::span<const versioned_row> part,
        const std::vector<array_column>& columns
    ) const {
        const versioned_mapping& mapping = wanted.mapping;
        claim_statement asking =
            begin("WITH mine AS MATERIALIZED (SELECT g.place, m.* FROM unnest(");
        const row_places given = put_given(asking, wanted, columns);
        asking.sql(" CROSS JOIN LATERAL (SELECT ").key_as(mapping.key).sql(", ");
        asking.name(mapping.version).sql(" AS v").from(mapping.table).sql(" WHERE ");
        asking.is_row(mapping, given).within_term(mapping, part[0].is_claimed);
        asking.sql(strength_of(wanted.is_referable)).sql(") AS m) UPDATE ").table(mapping.table);
        asking.sql(" AS t SET ").set_changed(wanted, part[0].is_claimed).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version);
        const result changed = asking.sql(" = mine.v RETURNING mine.place").run(inside);
        require_at_most(part.size(), changed.affected_rows, mapping);
        std::vector<change_outcome> outcomes(part.size(), change_outcome::lost);
        set_at(changed, change_outcome::done, outcomes);
        if (changed.rows.size() == part.size()) return outcomes;
        // The other rows are locked if they still are as given. A new statement has a new snapshot.
        claim_statement look = begin("SELECT g.place FROM unnest(");
        const row_places same = put_given(look, wanted, columns);
        look.sql(" CROSS JOIN LATERAL (SELECT 1").from(mapping.table).sql(" WHERE ");
        look.is_row(mapping, same).within_term(mapping, part[0].is_claimed);
        set_at(look.sql(" LIMIT 1) AS m").run(inside), change_outcome::busy, outcomes);
        return outcomes;
    }

    // "$1::pg_catalog.int8[], …) WITH ORDINALITY AS g (k0, v, who, place)", and the names in it.
    static row_places put_given(
        claim_statement& asking,
        const change_request& wanted,
        const std::vector<array_column>& columns
    ) {
        row_places names;
        std::string aliases;
        for (std::size_t at = 0; at < columns.size(); ++at) {
            const array_column& each = columns[at];
            asking.sql(at == 0 ? "" : ", ").put(each.text).sql("::" + each.type + "[]");
            aliases += each.name + ", ";
        }
        asking.sql(") WITH ORDINALITY AS g (" + aliases + "place)");
        for (std::size_t at = 0; at < wanted.mapping.key.size(); ++at) {
            names.key.push_back("g.k" + std::to_string(at));
        }
        names.version = "g.v";
        if (columns.back().name == "who") names.claimed_as = "g.who";
        return names;
    }

    static void set_at(
        const result& places, change_outcome outcome, std::vector<change_outcome>& outcomes
    ) {
        for (const std::int64_t place : only_integers(places)) {
            change_outcome& of = outcomes.at(static_cast<std::size_t>(place) - 1);
            if (of != change_outcome::done) of = outcome;
        }
    }

    // A new statement has a new snapshot.
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
