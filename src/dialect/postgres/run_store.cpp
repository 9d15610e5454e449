// Records of run-once tasks on PostgreSQL. The rules these statements follow: lock_store.cpp.
#include "store/run_store.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/run_rows.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

// Of record r, and the lock and session that belong to it. See run_rows.hpp.
#define RUN_COLUMNS                                                                           \
    "r.name, r.tick, r.token, r.owner, r.node_info, "                                         \
    "(extract(epoch FROM clock_timestamp() - r.started_at) * 1000000)::bigint, "              \
    "(extract(epoch FROM r.finished_at - r.started_at) * 1000000)::bigint, "                  \
    "(extract(epoch FROM r.opens_at - clock_timestamp()) * 1000000)::bigint, "                \
    "r.state, r.exit_status, r.message, "                                                     \
    "(l.lock_key IS NOT NULL AND (l.expires_at IS NULL OR l.expires_at > clock_timestamp()) " \
    "AND (s.id IS NULL OR s.expires_at > clock_timestamp()))::int"
#define LOCK_OF_RUN                                                                                \
    "LEFT JOIN {prefix}lock l ON l.lock_key = r.name AND l.owner = r.owner AND l.fence = r.token " \
    "LEFT JOIN {prefix}session s ON s.id = l.session_id"

// $1 name. One snapshot, by the clock; nothing waits. Indexes: the three primary keys. Reads: 3
// rows.
constexpr std::string_view look_sql =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, " RUN_COLUMNS
    " FROM (SELECT 1) AS always LEFT JOIN {prefix}run r ON r.name = $1 " LOCK_OF_RUN;

// $1 name, $2 token, $3 owner, $4 node_info, $5 tick, $6 hold_at_least, $7 may_repeat.
//
// Every condition is on the record itself, so that it is tested again on the newest version where
// this waited for another claim or for an end that is being committed.
// made: somebody whose lease is gone may insert the same name at this moment: then nothing is made
//       here, and looking again finds a record with a lower token.
// The count of what is ours already is of the snapshot: an earlier attempt that was committed.
// Reads: 4 rows.
constexpr std::string_view claim_sql = R"sql(
WITH changed AS (
    UPDATE {prefix}run AS r
       SET tick = $5, token = $2, owner = $3, node_info = $4, started_at = clock_timestamp(),
           opens_at = clock_timestamp() + $6::bigint * interval '1 microsecond',
           finished_at = NULL, state = 1, exit_status = NULL, message = ''
     WHERE r.name = $1 AND r.token < $2 AND r.opens_at <= clock_timestamp()
       AND (r.tick < $5 OR (r.tick = $5 AND r.finished_at IS NULL AND $7::bigint = 1))
    RETURNING r.token, {durable}
), made AS (
    INSERT INTO {prefix}run (name, tick, token, owner, node_info, started_at, opens_at, state,
                             message)
    SELECT $1, $5, $2, $3, $4, clock_timestamp(),
           clock_timestamp() + $6::bigint * interval '1 microsecond', 1, ''
     WHERE NOT EXISTS (SELECT FROM {prefix}run r WHERE r.name = $1)
    ON CONFLICT (name) DO NOTHING
    RETURNING token, {durable}
)
SELECT (SELECT count(*) FROM changed) + (SELECT count(*) FROM made)
       + (SELECT count(*) FROM {prefix}run r WHERE r.name = $1 AND r.token = $2 AND r.owner = $3)
)sql";

// $1 name, $2 token, $3 owner, $4 state, $5 exit status or null, $6 message. Commits as the
// database is set to: in the caller's transaction that is the caller's choice. Reads: 1 row.
constexpr std::string_view finish_sql = R"sql(
UPDATE {prefix}run
   SET finished_at = clock_timestamp(), state = $4, exit_status = $5, message = $6
 WHERE name = $1 AND token = $2 AND owner = $3)sql";

// $1 prefix, $2 the first name after all that have it, $3 after, $4 limit. bytea compares byte by
// byte, so a prefix is a range of run_pkey, which also gives the order. Lock and session are asked
// for by LATERAL queries, which cannot become joins that read a table. Reads: 3 rows for each run.
constexpr std::string_view list_sql =
    "SELECT " RUN_COLUMNS
    " FROM (SELECT * FROM {prefix}run WHERE name >= $1 AND name < $2 AND name > $3"
    " ORDER BY name LIMIT $4) AS r"
    " LEFT JOIN LATERAL (SELECT * FROM {prefix}lock k WHERE k.lock_key = r.name"
    " AND k.owner = r.owner AND k.fence = r.token LIMIT 1) AS l ON true"
    " LEFT JOIN LATERAL (SELECT * FROM {prefix}session t WHERE t.id = l.session_id LIMIT 1) AS s"
    " ON true ORDER BY r.name";

// Reads: 1 row.
constexpr std::string_view forget_sql = "DELETE FROM {prefix}run WHERE name = $1";

class postgres_run_store final : public run_store {
public:
    explicit postgres_run_store(const table_names& names)
        : look_(fill_in(look_sql, names)),
          claim_(fill_in(claim_sql, names)),
          finish_(fill_in(finish_sql, names)),
          list_(fill_in(list_sql, names)),
          forget_(fill_in(forget_sql, names)) {}

    run_look look(connection& on, const key& name) override {
        const row found = on.execute(look_, {bytes_of(name.name())}).rows.at(0);
        run_look seen{instant_of(found.integer(0)), std::nullopt};
        if (!found.is_null(1)) seen.last = run_info_of(found, 1);
        return seen;
    }

    bool claim(connection& on, const run_claim& wanted) override {
        const parameters values{
            bytes_of(wanted.name.name()),
            value{wanted.token.number},
            bytes_of(wanted.owner),
            wanted.node_info,
            value{microseconds_since_1970(wanted.tick)},
            microseconds_of(wanted.hold_at_least),
            value{wanted.may_repeat ? 1 : 0}};
        return on.execute(claim_, values).rows.at(0).integer(0) > 0;
    }

    bool finish(connection& on, const run_finish& what) override {
        const auto& exit_status = what.result.exit_status;
        const parameters values{
            bytes_of(what.name.name()),
            value{what.token.number},
            bytes_of(what.owner),
            value{state_number(what.result)},
            exit_status ? value{*exit_status} : value{},
            what.result.message};
        return on.execute(finish_, values).affected_rows == 1;
    }

    std::vector<run_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const std::string begin{prefix};
        const parameters values{
            bytes_of(begin),
            bytes_of(end_of_prefix(begin)),
            bytes_of(std::string{after}),
            value{limit}};
        std::vector<run_info> runs;
        for (const row& each : on.execute(list_, values).rows) {
            runs.push_back(run_info_of(each, 0));
        }
        return runs;
    }

    bool forget(connection& on, const key& name) override {
        return on.execute(forget_, {bytes_of(name.name())}).affected_rows == 1;
    }

private:
    const std::string look_;
    const std::string claim_;
    const std::string finish_;
    const std::string list_;
    const std::string forget_;
};

}  // namespace

std::unique_ptr<run_store> make_run_store(const table_names& names) {
    return std::make_unique<postgres_run_store>(names);
}

}  // namespace leasehold::postgres_dialect
