// The doctor's questions that are PostgreSQL's own. The statements: health.sql.
#include "admin/sql_health_store.hpp"

#include "core/in_words.hpp"
#include "sql/postgres/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

using std::chrono::microseconds;

class postgres_health_store final : public sql_health_store {
public:
    explicit postgres_health_store(shared_dialect how) : sql_health_store(std::move(how)) {}

    std::vector<finding> examine_server(connection& on, const diagnosis_settings& settings)
        override {
        std::vector<finding> found;
        add_transport(
            found,
            on.server().transport,
            "let the URL say sslmode=verify-full&sslrootcert=FILE, with the certificate of the "
            "server's authority in FILE"
        );
        look(found, "the server's settings", [&] {
            const row server = read(on, "server").rows.at(0);
            add_defaults(found, server);
            add_replication(found, server);
            add_patroni(found, server);
            add_connections(
                found,
                server.integer(column::connections),
                server.integer(column::connections_max),
                settings
            );
            for (const row& each : read(on, "connection_limits").rows) {
                using limit = columns::health::connection_limits;
                add_connections(
                    found,
                    each.integer(limit::used),
                    each.integer(limit::most),
                    settings,
                    each.text(limit::whose),
                    each.text(limit::remedy)
                );
            }
            if (sees_others(server)) return;
            found.push_back(not_looked_at(
                "other users' open transactions",
                error(errc::permission_denied, "this user is no member of pg_read_all_stats")
            ));
        });
        const parameters since{value_of(microseconds{settings.snapshot_older_than})};
        look(found, "open transactions", [&] { add_snapshot(found, on, since); });
        look(found, "prepared transactions", [&] { add_prepared(found, on, since); });
        look(found, "replication slots", [&] { add_slots(found, on, settings); });
        return found;
    }

    std::vector<finding> examine_tables(connection& on, const diagnosis_settings& settings)
        override {
        std::vector<finding> found;
        look(found, "the tables' statistics", [&] { add_tables(found, on, settings); });
        return found;
    }

    std::vector<finding> hidden_rows(connection& on) override {
        std::vector<finding> found;
        look(found, "policies of the tables", [&] {
            for (const row& each :
                 how_->read(on, shapes_["hidden_rows"], {how_->names().prefix}).rows) {
                found.push_back(hidden_in(each));
            }
        });
        return found;
    }

    std::int64_t server_process(connection& on) override {
        return only_integer(read(on, "process"));
    }

private:
    using column = columns::health::server;

    std::vector<needed_rights> needed() const override { return granted(); }
    bool has_right(connection& on, const std::string& table, const std::string& verb) override {
        return only_integer(read(on, "has_right", {table, verb})) != 0;
    }

    void add_defaults(std::vector<finding>& found, const row& server) const {
        const std::string& user = server.text(column::user);
        const auto of_user = [&](const std::string& text) {
            return replaced(text, "{user}", user);
        };
        if (server.text(column::isolation) != "read committed") {
            found.push_back(
                {severity::warning,
                 "isolation",
                 "transactions of user " + user + " begin as " + server.text(column::isolation),
                 "try_acquire_in() and others refuse such a transaction, because it would not see "
                 "what was committed while it waited",
                 "begin those transactions as READ COMMITTED, or: " +
                     of_user(texts_.source("set_isolation"))}
            );
        }
        if (server.text(column::read_only) != "off") {
            found.push_back(
                {severity::warning,
                 "read_only_default",
                 "transactions of user " + user + " begin read-only",
                 "a program's own transactions can prove no lease and enqueue no job",
                 of_user(texts_.source("set_writable"))}
            );
        }
        if (server.text(column::commits) == "off") {
            found.push_back(
                {severity::warning,
                 "asynchronous_commit",
                 "commits of user " + user + " do not wait for the disk (synchronous_commit = off)",
                 "leasehold's own commits do; but what your transaction writes beside a proof, and "
                 "a job that ends in it, can be lost in a crash",
                 of_user(texts_.source("set_commit"))}
            );
        }
        if (server.text(column::vacuum) != "on") {
            found.push_back(
                {severity::warning,
                 "no_vacuum",
                 "autovacuum is off on this server",
                 "each heartbeat and job leaves a dead row, and statements become slower with them",
                 texts_.source("set_vacuum") + ", and reload the server's settings"}
            );
        }
    }

    finding hidden_in(const row& seen) const {
        using hidden = columns::shape::hidden_rows;
        const std::string table = how_->names().prefix + seen.text(hidden::table);
        const std::string& user = seen.text(hidden::user);
        const bool hides = seen.integer(hidden::hides) != 0;
        return {
            hides ? severity::error : severity::warning,
            "row_security",
            "row level security is on for " + table +
                (hides ? ", and hides rows from user " + user
                       : "; it hides no rows from user " + user + ", and may from others"),
            "whom it hides rows from passes them over without an error: a worker finds no jobs, "
            "and "
            "a key that is held looks free",
            replaced(shapes_.source("show_rows"), "{table}", table)};
    }

    // Every user sees others' connections and standbys; only some users see their activity.
    static bool sees_others(const row& server) { return server.integer(column::sees_others) != 0; }

    static void add_replication(std::vector<finding>& found, const row& server) {
        const std::string& names = server.text(column::standby_names);
        const std::int64_t standbys = server.integer(column::standbys);
        const std::int64_t waited_for = server.integer(column::waited_for);
        if (names.empty() && standbys == 0 && !has_patroni(server)) return;
        if (names.empty()) {
            const std::string who =
                standbys == 0   ? "a standby is expected to receive what is written here, none does"
                : standbys == 1 ? "1 standby receives what is written here"
                                : in_words(standbys, "standby") + " receive what is written here";
            found.push_back(
                {severity::warning,
                 "replication",
                 who + ", and no commit waits for any",
                 "where one is promoted, grants may be forgotten and tokens given twice",
                 has_patroni(server)
                     ? "turn on synchronous_mode and synchronous_mode_strict: patronictl "
                       "edit-config; docs/guides/patroni.md"
                     : "name them in synchronous_standby_names; docs/clusters.md"}
            );
        } else if (!sees_others(server)) {
            found.push_back(
                {severity::good,
                 "replication",
                 "commits wait for the standbys '" + names +
                     "'; this user may not see whether they are there"}
            );
        } else if (waited_for == 0) {
            found.push_back(
                {severity::error,
                 "replication",
                 "commits wait for the standbys '" + names + "', and none of them is there",
                 "no key can be granted: each commit waits until one is back",
                 "start the standby, or take it out of synchronous_standby_names"}
            );
        } else {
            found.push_back(
                {severity::good,
                 "replication",
                 "commits wait for the standbys '" + names + "'; " + std::to_string(standbys) +
                     (standbys == 1 ? " is connected" : " are connected")}
            );
        }
    }

    static bool has_patroni(const row& server) { return server.integer(column::has_patroni) != 0; }

    // Its settings are its own. It writes '*' if commits are to wait until a standby has connected.
    static void add_patroni(std::vector<finding>& found, const row& server) {
        if (!has_patroni(server)) return;
        const std::string& names = server.text(column::standby_names);
        const char* const mode =
            names.empty() ? "synchronous_mode is off, or is not strict and has no standby"
            : names == "*"
                ? "synchronous_mode_strict lets commits wait until a standby is there"
                : "whether synchronous_mode_strict is set cannot be seen from here; without it "
                  "commits wait for nobody once the standby has gone";
        found.push_back(
            {severity::good,
             "patroni",
             std::string{"Patroni manages this server: "} + mode +
                 ". With etcd's v3 API it has to be version 3.1 or newer, which cannot be seen "
                 "from "
                 "here: 3.0.2 lets a frozen primary take the leader key back, and loses commits "
                 "(patroni#2689, #2693; docs/guides/patroni.md)"}
        );
    }

    void add_snapshot(std::vector<finding>& found, connection& on, const parameters& since) const {
        const result seen = read(on, "snapshot", since);
        if (seen.rows.empty()) return;
        using found_one = columns::health::snapshot_on_postgres;
        const row& oldest = seen.rows[0];
        const std::string pid = std::to_string(oldest.integer(found_one::pid));
        std::string who = "connection " + pid + " of user " + oldest.text(found_one::user);
        if (!oldest.text(found_one::host).empty()) who += " at " + oldest.text(found_one::host);
        if (!oldest.text(found_one::application).empty())
            who += " (" + oldest.text(found_one::application) + ")";
        found.push_back(
            {severity::warning,
             "old_snapshot",
             "a transaction is open for " +
                 in_words(microseconds{oldest.integer(found_one::open_for)}) + ": " + who +
                 ", state: " + oldest.text(found_one::state),
             "no row that died since then can be removed, so that claims of jobs and heartbeats "
             "become slower",
             "end it in its program, or: SELECT pg_terminate_backend(" + pid + ")"}
        );
    }

    void add_prepared(std::vector<finding>& found, connection& on, const parameters& since) const {
        const result seen = read(on, "prepared", since);
        if (seen.rows.empty()) return;
        using found_one = columns::health::prepared;
        const row& oldest = seen.rows[0];
        found.push_back(
            {severity::warning,
             "prepared_transaction",
             "transaction '" + oldest.text(found_one::name) + "' of user " +
                 oldest.text(found_one::owner) + " is prepared for " +
                 in_words(microseconds{oldest.integer(found_one::prepared_for)}) +
                 ", in database " + oldest.text(found_one::database),
             "its locks and its snapshot stay, also over a restart of the server",
             "COMMIT PREPARED or ROLLBACK PREPARED '" + oldest.text(found_one::name) +
                 "', as its transaction manager says"}
        );
    }

    void add_slots(std::vector<finding>& found, connection& on, const diagnosis_settings& settings)
        const {
        for (const row& each : read(on, "slots", {settings.max_slot_bytes}).rows) {
            using slot = columns::health::slots;
            constexpr std::int64_t bytes_per_mebibyte = 1024L * 1024;
            found.push_back(
                {severity::warning,
                 "idle_slot",
                 "nobody reads replication slot '" + each.text(slot::name) + "', which keeps " +
                     std::to_string(each.integer(slot::bytes) / bytes_per_mebibyte) + " MiB of log",
                 "it keeps dead rows or log for ever, until the disk is full",
                 "start its reader, or: SELECT pg_drop_replication_slot('" + each.text(slot::name) +
                     "')"}
            );
        }
    }

    void add_tables(std::vector<finding>& found, connection& on, const diagnosis_settings& settings)
        const {
        constexpr std::int64_t max_dead_per_live = 2;
        for (const row& each : read(on, "tables", {how_->names().prefix}).rows) {
            using statistics = columns::health::tables;
            const std::string table = how_->names().prefix + each.text(statistics::name);
            const std::int64_t live = each.integer(statistics::live);
            const std::int64_t dead = each.integer(statistics::dead);
            if (each.integer(statistics::has_no_vacuum) != 0) {
                found.push_back(
                    {severity::warning,
                     "no_vacuum",
                     "autovacuum is off for " + table,
                     "each heartbeat and job leaves a dead row, and statements become slower with "
                     "them",
                     replaced(texts_.source("reset_vacuum"), "{table}", table)}
                );
            }
            if (dead <= settings.max_dead_rows || dead < live * max_dead_per_live) continue;
            const std::int64_t ago = each.integer(statistics::vacuumed_ago);
            found.push_back(
                {severity::warning,
                 "dead_rows",
                 table + " has " + std::to_string(dead) + " dead rows beside " +
                     std::to_string(live) + " live ones; " +
                     (ago < 0 ? "it was never vacuumed"
                              : "the last vacuum was " + in_words(microseconds{ago}) + " ago"),
                 "statements read what is dead as well",
                 "look for old_snapshot above; then: VACUUM " + table}
            );
        }
    }
};

}  // namespace

std::unique_ptr<health_store> make_health_store(shared_dialect how) {
    return std::make_unique<postgres_health_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
