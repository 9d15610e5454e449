// Claims on the user's tables on MySQL and MariaDB, at READ COMMITTED or REPEATABLE READ.
//
// An UPDATE cannot skip locked rows, a SELECT can: the row is locked SKIP LOCKED in a derived
// table, which its LIMIT keeps from being merged into the join, and changed by the same statement.
// Neither waits for anybody, so no wait can run out (1205, which with innodb_rollback_on_timeout
// rolls the caller's transaction back) and on MySQL no circle can close (1213, which always does).
// MariaDB's SKIP LOCKED enters the queue before it leaves it, and its deadlock detector may look in
// between: seen 27 times in 100,000 claims, each in a batch that tried rows in random order, so
// batches go in one direction. NOWAIT is no way: MariaDB reports it as 1205.
#include "claims/table_store.hpp"
#include "claims/sql_stores.hpp"

#include <algorithm>
#include <iterator>

#include "claims/mysql/table_catalogue.hpp"
#include "leasehold/error.hpp"
#include "sql/mysql/dialect.hpp"
#include "sql/row_columns.hpp"

namespace leasehold::mysql_dialect {
namespace {

// The clock at the moment of use, in UTC whatever the time zone of the caller's session: SYSDATE
// advances within a statement, and the other two differ by the zone alone.
constexpr std::string_view utc_now =
    "TIMESTAMPADD(SECOND, TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()), SYSDATE(6))";

// A clock in the session's zone, for TIMESTAMP columns, and one in UTC.
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

constexpr std::string_view read_committed = "READ-COMMITTED";

class mysql_table_store final : public mysql_catalogue {
public:
    explicit mysql_table_store(engine which)
        : mysql_catalogue(words, which == engine::mariadb),
          share_(is_mariadb_ ? " LOCK IN SHARE MODE SKIP LOCKED" : " FOR SHARE SKIP LOCKED") {}

    bool enter(connection& inside, const qualified_name&, claim_use what) const override {
        if (inside.is_untouched()) return true;
        const std::string level = session_isolation(inside);
        if (level == read_committed) return true;
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
        asking.key_is_mine(mapping.key).sql(" SET ");
        asking.set_claimed(mapping, as_read.claimed_as)
            .sql(" WHERE ")
            .name(mapping.version)
            .sql(" = ")
            .put(as_read.version);
        return is_one(asking.run(inside).affected_rows, mapping);
    }

    // Changes locked rows by their keys: nothing tells which rows an UPDATE has changed. The index
    // of the keys is forced, since a scan would lock the rows it passes, at REPEATABLE READ for
    // good.
    several_claimed claim_several(connection& inside, const several_request& wanted)
        const override {
        return claim_in_turns(inside, wanted, [&](std::span<const versioned_row> chosen) {
            return take(inside, wanted, chosen);
        });
    }

    // Changed, not matched, rows: the version always changes, so both counts are the same with and
    // without CLIENT_FOUND_ROWS.
    change_outcome change(connection& inside, const change_request& wanted, const versioned_row& at)
        const override {
        const versioned_mapping& mapping = wanted.mapping;
        if (!looks_unchanged(inside, mapping, at)) return change_outcome::lost;
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t JOIN (SELECT ").key_as(mapping.key);
        asking.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        asking.sql(" LIMIT 1 FOR UPDATE SKIP LOCKED) AS mine ON ").key_is_mine(mapping.key);
        asking.sql(" SET ").set_changed(wanted, at.is_claimed).sql(" WHERE ");
        asking.name(mapping.version).sql(" = ").put(at.version);
        if (is_one(asking.run(inside).affected_rows, mapping)) return change_outcome::done;
        return may_be_locked(inside, mapping, at) ? change_outcome::busy : change_outcome::lost;
    }

    std::vector<change_outcome> change_several(
        connection& inside, const change_request& wanted, std::span<const versioned_row> rows
    ) const override {
        std::vector<change_outcome> outcomes;
        while (!rows.empty()) {
            const auto part = rows.first(part_size(rows));
            rows = rows.subspan(part.size());
            const auto of_part = change_part(inside, wanted, part);
            outcomes.insert(outcomes.end(), of_part.begin(), of_part.end());
        }
        return outcomes;
    }

    // InnoDB keeps the lock of a row it has found by its key, also if the row is not as wanted.
    bool looks_unchanged(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const override {
        claim_statement plain = begin("SELECT 1");
        plain.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        return !plain.run(inside).rows.empty();
    }

    // As may_be_locked(): at REPEATABLE READ the plain look may show an old state for ever.
    claimed_rows lock_by_key(connection& inside, const row_request& wanted) const override {
        claimed_rows got = plain_table_store::lock_by_key(inside, wanted);
        if (got.status != claim_status::busy) return got;
        if (session_isolation(inside) == read_committed) return got;
        claim_statement newest = begin("SELECT CASE WHEN ");
        newest.all_of(wanted.where, wanted.mapping.times).sql(" THEN 1 ELSE 0 END");
        newest.from(wanted.mapping.table).sql(" WHERE ");
        newest.key_is(wanted.mapping.key, wanted.keys.at(0)).sql(locking(wanted.mapping.strength));
        const result found = newest.run(inside);
        if (found.rows.empty()) return got;
        if (only_integer(found) == 0) return {claim_status::none, {}};
        return plain_table_store::lock_by_key(inside, wanted);  // it was unlocked in between
    }

private:
    // The number of the first rows that go into one statement, which is text here and may be no
    // longer than a server's smallest max_allowed_packet.
    static std::size_t part_size(std::span<const versioned_row> rows) {
        constexpr std::size_t max_rows = 200;
        constexpr std::size_t max_bytes = 8192;
        std::size_t bytes = 0;
        std::size_t count = 0;
        for (const versioned_row& each : rows.first(std::min(rows.size(), max_rows))) {
            bytes += each.claimed_as.size();
            for (const value& part : each.key) {
                const auto* text = std::get_if<std::string>(&part.held());
                const auto* other = std::get_if<blob>(&part.held());
                bytes += text ? text->size() : other ? other->bytes.size() : 8;
            }
            if (bytes > max_bytes && count > 0) break;
            ++count;
        }
        return count;
    }

    // Takes candidates that a plain read has shown, by their keys: a locking read by another index
    // keeps the entries of the rows it skips, and a transaction that has locked one of those could
    // not change it.
    std::vector<versioned_row> take(
        connection& inside, const several_request& wanted, std::span<const versioned_row> chosen
    ) const {
        const versioned_mapping& mapping = wanted.mapping;
        std::vector<versioned_row> taken;
        while (!chosen.empty()) {
            const auto part = chosen.first(part_size(chosen));
            chosen = chosen.subspan(part.size());
            claim_statement locking = begin("SELECT ");
            locking.key_as(mapping.key).sql(", ").name(mapping.version);
            for (const std::string& each : mapping.columns) locking.sql(", ").name(each);
            locking.from(mapping.table, wanted.key_index).sql(" WHERE ");
            locking.key_is_any(mapping.key, part).sql(" AND ").open(mapping).sql(" AND ");
            locking.all_of(wanted.where, mapping.times).sql(" AND ").name(mapping.version);
            locking.sql(" < ").put(wanted.version_most).sql(" FOR UPDATE SKIP LOCKED");
            std::vector<versioned_row> mine;
            for (const row& each : locking.run(inside).rows) {
                mine.push_back(versioned_row_of(each, 0, mapping.key.size(), mapping.columns.size())
                );
            }
            in_order_of(part, mine);
            std::ranges::move(mine, std::back_inserter(taken));
        }
        set_all_claimed(inside, wanted, taken);
        return taken;
    }

    void set_all_claimed(
        connection& inside, const several_request& wanted, std::span<const versioned_row> mine
    ) const {
        while (!mine.empty()) {
            const auto part = mine.first(part_size(mine));
            mine = mine.subspan(part.size());
            claim_statement asking = begin("");
            asking.update(wanted.mapping.table, wanted.key_index).sql(" SET ");
            asking.set_claimed(wanted.mapping, wanted.claimed_as).sql(" WHERE ");
            asking.key_is_any(wanted.mapping.key, part);
            require_all(asking.run(inside).affected_rows, part.size(), wanted.mapping);
        }
    }

    // Locks the rows that are still as given, and changes those. A row that was not locked is lost,
    // unless a plain look still shows it as given.
    std::vector<change_outcome> change_part(
        connection& inside, const change_request& wanted, std::span<const versioned_row> part
    ) const {
        if (part.size() == 1) return {change(inside, wanted, part[0])};
        const versioned_mapping& mapping = wanted.mapping;
        std::vector<change_outcome> outcomes(part.size(), change_outcome::lost);
        const auto locked = positions_of(inside, wanted, part, " FOR UPDATE SKIP LOCKED");
        std::vector<versioned_row> mine;
        for (const std::size_t at : locked.found) {
            mine.push_back(part[at]);
            outcomes[at] = change_outcome::done;
        }
        if (!mine.empty()) {
            claim_statement asking = begin("");
            asking.update(mapping.table, wanted.key_index).sql(" SET ");
            asking.set_changed(wanted, part[0].is_claimed);
            asking.sql(" WHERE ").key_is_any(mapping.key, mine);
            require_all(asking.run(inside).affected_rows, mine.size(), mapping);
        }
        if (mine.size() == part.size()) return outcomes;
        // Keys in other letters than the table's, and the snapshots of REPEATABLE READ, need a look
        // for each row.
        const bool is_plain = !locked.has_strangers && session_isolation(inside) == read_committed;
        const auto seen = positions_of(inside, wanted, part, "");
        for (std::size_t at = 0; at < part.size(); ++at) {
            if (outcomes[at] == change_outcome::done) continue;
            const bool is_seen = std::ranges::binary_search(seen.found, at);
            if (is_plain && is_seen) outcomes[at] = change_outcome::busy;
            if (!is_plain && (is_seen || locked.has_strangers)) {
                outcomes[at] = change(inside, wanted, part[at]);
            }
        }
        return outcomes;
    }

    struct positions {
        std::vector<std::size_t> found;  // ascending
        bool has_strangers = false;      // rows came whose keys are not among those asked for
    };
    // The positions of the rows that are still as given.
    positions positions_of(
        connection& inside,
        const change_request& wanted,
        std::span<const versioned_row> part,
        std::string_view locking
    ) const {
        const versioned_mapping& mapping = wanted.mapping;
        const bool is_compared = !mapping.claimed_by.empty() && !part[0].claimed_as.empty();
        claim_statement asking = begin("SELECT ");
        asking.key_as(mapping.key).sql(", ").name(mapping.version);
        if (is_compared) asking.sql(", ").name(mapping.claimed_by);
        asking.from(mapping.table, wanted.key_index).sql(" WHERE ");
        asking.key_is_any(mapping.key, part).sql(" AND ").is_any_of(mapping, part);
        asking.within_term(mapping, part[0].is_claimed).sql(locking);
        positions answer;
        std::size_t next = 0;  // rows come in the order of their keys as a rule, as part is
        for (const row& each : asking.run(inside).rows) {
            versioned_row is = versioned_row_of(each, 0, mapping.key.size(), is_compared ? 1 : 0);
            if (is_compared) is.claimed_as = is.columns.bytes(only_column);
            const std::size_t at = position_of(is, part, next, is_compared);
            if (at == part.size()) {
                answer.has_strangers = true;
            } else {
                answer.found.push_back(at);
                next = at + 1;
            }
        }
        std::ranges::sort(answer.found);
        return answer;
    }
    // A row that the key names in other letters than the table has is a stranger.
    static std::size_t position_of(
        const versioned_row& is,
        std::span<const versioned_row> rows,
        std::size_t first,
        bool is_compared
    ) {
        for (std::size_t step = 0; step < rows.size(); ++step) {
            const std::size_t at = (first + step) % rows.size();
            const versioned_row& each = rows[at];
            if (each.version != is.version || each.key != is.key) continue;
            if (!is_compared || each.claimed_as == is.claimed_as) return at;
        }
        return rows.size();
    }
    static void in_order_of(
        std::span<const versioned_row> order, std::vector<versioned_row>& rows
    ) {
        std::ranges::sort(rows, {}, [&](const versioned_row& each) {
            return std::ranges::find(order, each.key, &versioned_row::key) - order.begin();
        });
    }

    static void require_all(
        std::int64_t affected_rows, std::size_t locked, const versioned_mapping& mapping
    ) {
        require_at_most(locked, affected_rows, mapping);
        if (affected_rows == static_cast<std::int64_t>(locked)) return;
        throw error(
            errc::database_error,
            "of " + std::to_string(locked) + " locked rows of table " + mapping.table.name + " " +
                std::to_string(affected_rows) + " were changed: roll back"
        );
    }

    std::vector<claimed_row> lock_rows(connection& inside, const row_request& wanted)
        const override {
        claim_statement asking = rows_text(wanted);
        asking.sql(" LIMIT ").put(wanted.limit).sql(locking(wanted.mapping.strength));
        return rows_of(asking.run(inside), wanted.mapping);
    }

    // At READ COMMITTED a plain read sees all commits. The snapshot of REPEATABLE READ may show an
    // old state: there a locking read sees the newest version, and a row it gets is locked by
    // nobody else, and is either still ours or not. FOR UPDATE, since of two that shared it neither
    // could go on.
    bool may_be_locked(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const {
        if (!looks_unchanged(inside, mapping, at)) return false;
        if (session_isolation(inside) == read_committed) return true;
        claim_statement newest = begin("SELECT CASE WHEN ");
        newest.still_is(mapping, at).sql(" THEN 1 ELSE 0 END").from(mapping.table).sql(" WHERE ");
        newest.key_is(mapping.key, at.key).sql(" FOR UPDATE SKIP LOCKED");
        const result found = newest.run(inside);
        return found.rows.empty() || only_integer(found) == 1;
    }

    std::string_view locking(lock_strength strength) const {
        return strength == lock_strength::share ? share_ : " FOR UPDATE SKIP LOCKED";
    }

    // MariaDB: error 1020, and the whole transaction is rolled back, if a row to be locked is
    // newer than the snapshot. Older servers have no such variable; since 11.6 it is on.
    bool rolls_back_for_newer_rows(connection& inside) const {
        if (!is_mariadb_) return false;
        const result said = inside.execute(
            "SHOW SESSION VARIABLES WHERE Variable_name = 'innodb_snapshot_isolation'"
        );
        return !said.rows.empty() && said.rows[0].bytes("Value") == "ON";
    }

    const std::string_view share_;
};

}  // namespace

std::unique_ptr<table_store> make_table_store(engine which) {
    return std::make_unique<mysql_table_store>(which);
}

}  // namespace leasehold::mysql_dialect
