// Records of run-once tasks on MySQL and MariaDB. How these statements are written: lock_store.cpp.
#include "store/run_store.hpp"
#include "dialect/mysql/stores.hpp"
#include "dialect/run_rows.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

// Of record r, and the lock and session that belong to it. See run_rows.hpp.
#define RUN_COLUMNS                                                                         \
    "r.name, r.tick, r.token, r.owner, r.node_info, {now} - r.started_at, "                 \
    "r.finished_at - r.started_at, r.opens_at - {now}, r.state, r.exit_status, r.message, " \
    "l.lock_key IS NOT NULL AND {unexpired}"
#define LOCK_OF_RUN                                                                                \
    "LEFT JOIN {prefix}lock l ON l.lock_key = r.name AND l.owner = r.owner AND l.fence = r.token " \
    "LEFT JOIN {prefix}session s ON s.id = l.session_id"

// By primary keys. Reads: 4 rows, one of which is derived.
constexpr std::string_view look_text =
    "SELECT {now}, " RUN_COLUMNS
    " FROM (SELECT 1 AS one) o LEFT JOIN {prefix}run r ON r.name = ? " LOCK_OF_RUN;

// The UPDATE takes X on the record, by primary key, and tests it then. ROW_COUNT says whether it
// changed anything, which a start always does; what is ours already is an earlier attempt's.
// Reads: 4 rows; and as many again where insert_text met somebody else's.
constexpr std::string_view claim_text = R"sql(
UPDATE {prefix}run r
SET r.tick = ?, r.token = ?, r.owner = ?, r.node_info = ?, r.started_at = {now},
    r.opens_at = {now} + ?, r.finished_at = NULL, r.state = 1, r.exit_status = NULL, r.message = ''
WHERE r.name = ? AND r.token < ? AND r.opens_at <= {now}
  AND (r.tick < ? OR (r.tick = ? AND r.finished_at IS NULL AND ? = 1));
SELECT ROW_COUNT(),
       EXISTS (SELECT 1 FROM {prefix}run r WHERE r.name = ?),
       EXISTS (SELECT 1 FROM {prefix}run r WHERE r.name = ? AND r.token = ? AND r.owner = ?))sql";

// A statement of its own, so that it commits by itself: see insert_text of lock_store.cpp.
constexpr std::string_view insert_text = R"sql(
INSERT INTO {prefix}run
    (name, tick, token, owner, node_info, started_at, opens_at, finished_at, state, exit_status,
     message)
VALUES (?, ?, ?, ?, ?, {now}, {now} + ?, NULL, 1, NULL, ''))sql";

// UTC_TIMESTAMP, not {now}: on a connection that was lent the time zone is its owner's. Reads: 1
// row.
constexpr std::string_view finish_text = R"sql(
UPDATE {prefix}run
SET finished_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), state = ?,
    exit_status = ?, message = ?
WHERE name = ? AND token = ? AND owner = ?)sql";

// ? prefix, the first name after all that have it, after, limit: a range of the primary key, which
// also gives the order; the rest by primary keys. Reads: 3 rows for each run.
constexpr std::string_view list_text =
    "SELECT " RUN_COLUMNS " FROM {prefix}run r FORCE INDEX (PRIMARY) " LOCK_OF_RUN
    " WHERE r.name >= ? AND r.name < ? AND r.name > ? ORDER BY r.name LIMIT ?";

// Reads: 1 row.
constexpr std::string_view forget_text = "DELETE FROM {prefix}run WHERE name = ?";

class mysql_run_store final : public run_store {
public:
    mysql_run_store(const table_names& names, engine which)
        : look_(statement(look_text, names, which)),
          claim_(statement(claim_text, names, which)),
          insert_(statement(insert_text, names, which)),
          finish_(statement(finish_text, names, which)),
          list_(statement(list_text, names, which)),
          forget_(statement(forget_text, names, which)) {}

    run_look look(connection& on, const key& name) override {
        const row found = on.execute(look_, {blob{name.name()}}).rows.at(0);
        run_look seen{instant_of(found.integer(0)), std::nullopt};
        if (!found.is_null(1)) seen.last = run_info_of(found, 1);
        return seen;
    }

    bool claim(connection& on, const run_claim& wanted) override {
        return despite_deadlocks([&] {
            const answer first = change(on, wanted);
            if (first.is_claimed || first.is_known) return first.is_claimed;
            try {
                on.execute(insert_, values_to_insert(wanted));
                return true;
            } catch (const error& failure) {
                if (failure.native_code() != duplicate_key_code) throw;
            }
            return change(on, wanted).is_claimed;
        });
    }

    bool finish(connection& on, const run_finish& what) override {
        const auto& exit_status = what.result.exit_status;
        const parameters values{
            state_number(what.result),
            exit_status ? value{*exit_status} : value{},
            blob{what.result.message},
            blob{what.name.name()},
            what.token.number,
            blob{what.owner.bytes()}};
        return on.execute(finish_, values).affected_rows == 1;
    }

    std::vector<run_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const parameters values{
            blob{std::string(prefix)},
            blob{end_of_prefix(prefix)},
            blob{std::string(after)},
            limit};
        std::vector<run_info> runs;
        for (const row& each : on.execute(list_, values).rows) {
            runs.push_back(run_info_of(each, 0));
        }
        return runs;
    }

    bool forget(connection& on, const key& name) override {
        const result gone =
            despite_deadlocks([&] { return on.execute(forget_, {blob{name.name()}}); });
        return gone.affected_rows == 1;
    }

private:
    struct answer {
        bool is_claimed = false;
        bool is_known = false;
    };

    answer change(connection& on, const run_claim& wanted) const {
        const value name = blob{wanted.name.name()};
        const value owner = blob{wanted.owner.bytes()};
        const value tick = microseconds_since_1970(wanted.tick);
        const value token = wanted.token.number;
        const parameters values{
            tick,
            token,
            owner,
            blob{wanted.node_info},
            std::int64_t{wanted.hold_at_least.count()},
            name,
            token,
            tick,
            tick,
            wanted.may_repeat ? 1 : 0,
            // the report
            name,
            name,
            token,
            owner};
        const result reply = send_packet(on, claim_, values);
        const row& report = reply.rows.at(0);
        return {report.integer(0) == 1 || report.integer(2) == 1, report.integer(1) == 1};
    }

    static parameters values_to_insert(const run_claim& wanted) {
        return {
            blob{wanted.name.name()},
            microseconds_since_1970(wanted.tick),
            wanted.token.number,
            blob{wanted.owner.bytes()},
            blob{wanted.node_info},
            std::int64_t{wanted.hold_at_least.count()}};
    }

    const std::string look_;
    const std::string claim_;
    const std::string insert_;
    const std::string finish_;
    const std::string list_;
    const std::string forget_;
};

}  // namespace

std::unique_ptr<run_store> make_run_store(const table_names& names, engine which) {
    return std::make_unique<mysql_run_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
