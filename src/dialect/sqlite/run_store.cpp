// SQLite: records of run-once tasks. ?1 is always the wall clock: fire times are dates. Whether a
// run is still held goes by the clock since boot, like everything else: see lock_store.cpp.
#include "store/run_store.hpp"
#include "dialect/run_rows.hpp"
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

// ?2 the clock since boot, ?3 this boot. See run_rows.hpp.
#define RUN_COLUMNS                                                                          \
    "r.name, r.tick, r.token, r.owner, r.node_info, ?1 - r.started_at, "                     \
    "r.finished_at - r.started_at, r.opens_at - ?1, r.state, r.exit_status, r.message, "     \
    "EXISTS (SELECT 1 FROM {prefix}lock l WHERE l.lock_key = r.name AND l.owner = r.owner "  \
    "AND l.fence = r.token AND (l.expires_at IS NULL OR l.expires_at > ?2) AND NOT EXISTS (" \
    "SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at <= ?2)) "    \
    "AND (SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = ?3"

// Reads: 4 rows, by primary keys.
constexpr std::string_view look_sql = "SELECT " RUN_COLUMNS " FROM {prefix}run r WHERE r.name = ?4";

// ?2 name, ?3 token, ?4 owner, ?5 node_info, ?6 tick, ?7 hold_at_least, ?8 may_repeat. This
// and those that follow read 1 row each, but for list_sql.
constexpr std::string_view change_sql = R"sql(
UPDATE {prefix}run
   SET tick = ?6, token = ?3, owner = ?4, node_info = ?5, started_at = ?1, opens_at = ?1 + ?7,
       finished_at = NULL, state = 1, exit_status = NULL, message = ''
 WHERE name = ?2 AND token < ?3 AND opens_at <= ?1
   AND (tick < ?6 OR (tick = ?6 AND finished_at IS NULL AND ?8 = 1)))sql";

constexpr std::string_view make_sql = R"sql(
INSERT INTO {prefix}run (name, tick, token, owner, node_info, started_at, opens_at, state, message)
VALUES (?2, ?6, ?3, ?4, ?5, ?1, ?1 + ?7, 1, '')
ON CONFLICT (name) DO NOTHING)sql";

constexpr std::string_view is_ours_sql =
    "SELECT 1 FROM {prefix}run WHERE name = ?1 AND token = ?2 AND owner = ?3";

// ?2 name, ?3 token, ?4 owner, ?5 state, ?6 exit status, ?7 message. One statement, so that it can
// be in the caller's transaction or commit by itself.
constexpr std::string_view finish_sql = R"sql(
UPDATE {prefix}run SET finished_at = ?1, state = ?5, exit_status = ?6, message = ?7
 WHERE name = ?2 AND token = ?3 AND owner = ?4)sql";

// ?4 the first name that may be listed, ?5 the first after all that have the prefix: see list_sql
// of lock_store.cpp. Reads: 3 rows for each run.
constexpr std::string_view list_sql =
    "SELECT " RUN_COLUMNS
    " FROM {prefix}run r WHERE r.name >= ?4 AND r.name < ?5 ORDER BY r.name LIMIT ?6";

constexpr std::string_view forget_sql = "DELETE FROM {prefix}run WHERE name = ?1";

std::int64_t wall_clock_microseconds() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

class sqlite_run_store final : public run_store {
public:
    sqlite_run_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          look_(fill_in(look_sql, names)),
          change_(fill_in(change_sql, names)),
          make_(fill_in(make_sql, names)),
          is_ours_(fill_in(is_ours_sql, names)),
          finish_(fill_in(finish_sql, names)),
          list_(fill_in(list_sql, names)),
          forget_(fill_in(forget_sql, names)) {}

    run_look look(connection& on, const key& name) override {
        const auto now = wall_clock_microseconds();
        const auto found = on.execute(
            look_, {now, boot_clock::now_microseconds(), boot_->boot_id(), blob{name.name()}}
        );
        run_look seen{instant_of(now), std::nullopt};
        if (!found.rows.empty()) seen.last = run_info_of(found.rows[0], 0);
        return seen;
    }

    bool claim(connection& on, const run_claim& wanted) override {
        boot_->enter(on);
        write_transaction writing{on};
        const parameters values{
            wall_clock_microseconds(),
            blob{wanted.name.name()},
            wanted.token.number,
            blob{wanted.owner.bytes()},
            wanted.node_info,
            microseconds_since_1970(wanted.tick),
            std::int64_t{wanted.hold_at_least.count()},
            wanted.may_repeat ? 1 : 0};
        const parameters without_repeat{values.begin(), values.end() - 1};
        if (on.execute(change_, values).affected_rows == 1 ||
            on.execute(make_, without_repeat).affected_rows == 1) {
            writing.commit();
            return true;
        }
        const parameters ours{values[1], values[2], values[3]};
        return !on.execute(is_ours_, ours).rows.empty();
    }

    bool finish(connection& on, const run_finish& what) override {
        const auto& exit_status = what.result.exit_status;
        const parameters values{
            wall_clock_microseconds(),
            blob{what.name.name()},
            what.token.number,
            blob{what.owner.bytes()},
            state_number(what.result),
            exit_status ? value{*exit_status} : value{},
            what.result.message};
        return on.execute(finish_, values).affected_rows == 1;
    }

    std::vector<run_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const parameters values{
            wall_clock_microseconds(),
            boot_clock::now_microseconds(),
            boot_->boot_id(),
            blob{first_of_page(prefix, after)},
            blob{end_of_prefix(prefix)},
            limit};
        std::vector<run_info> runs;
        for (const row& each : on.execute(list_, values).rows) {
            runs.push_back(run_info_of(each, 0));
        }
        return runs;
    }

    bool forget(connection& on, const key& name) override {
        return on.execute(forget_, {blob{name.name()}}).affected_rows == 1;
    }

private:
    const std::shared_ptr<boot_check> boot_;
    const std::string look_;
    const std::string change_;
    const std::string make_;
    const std::string is_ours_;
    const std::string finish_;
    const std::string list_;
    const std::string forget_;
};

}  // namespace

std::unique_ptr<run_store> make_run_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_run_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
