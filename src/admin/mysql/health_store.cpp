// The doctor's questions that are MySQL's and MariaDB's own. The statements: health.sql.
#include "admin/sql_health_store.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/in_words.hpp"
#include "sql/mysql/dialect.hpp"
#include "sql/mysql/named_values.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

using std::chrono::microseconds;

class mysql_health_store final : public sql_health_store {
public:
    explicit mysql_health_store(shared_dialect how) : sql_health_store(std::move(how)) {}

    std::vector<finding> examine_server(connection& on, const diagnosis_settings& settings)
        override {
        std::vector<finding> found;
        look(found, "the connection's encryption", [&] { add_way(found, on); });
        look(found, "the server's settings", [&] {
            const named_values variables{read(on, "variables")}, status{read(on, "status")};
            add_connections(
                found,
                status.number("Threads_connected"),
                variables.number("max_connections"),
                settings
            );
            add_own_connections(found, on, settings);
            add_galera(found, variables, status);
            if (!variables["group_replication_group_name"].empty()) {
                look(found, "the group's members", [&] { add_group(found, on, variables); });
            }
            look(found, "replicas", [&] { add_replicas(found, on, variables, status); });
            look(found, "the replica's source", [&] { add_sources(found, on, variables); });
        });
        look(found, "open transactions", [&] { add_snapshot(found, on, settings); });
        look(found, "InnoDB's history", [&] { add_history(found, on, settings); });
        return found;
    }

    // information_schema shows only tables to which the user has a right.
    bool is_hidden(connection& on, const std::string& table) override {
        try {
            return !has_right(on, how_->names().prefix + table, "SELECT");
        } catch (const error& failure) {
            if (failure.connection_is_lost()) throw;
            return false;  // the table does not exist
        }
    }

private:
    std::vector<needed_rights> needed() const override { return granted(); }
    bool has_right(connection& on, const std::string& table, const std::string& verb) override {
        const std::string& question = verb == "SELECT"   ? texts_.source("try_select")
                                      : verb == "INSERT" ? texts_.source("try_insert")
                                      : verb == "UPDATE" ? texts_.source("try_update")
                                                         : texts_.source("try_delete");
        const std::string text =
            replaced(replaced(question, "{table}", table), "{column}", first_column_of(table));
        try {
            on.execute(text);
        } catch (const error& failure) {
            // A server that takes no writes says so before it looks at rights: another finding
            // reports that.
            if (failure.code() == errc::read_only) return true;
            if (failure.code() != errc::permission_denied) throw;
            return false;
        }
        return true;
    }

    std::string first_column_of(const std::string& table) const {
        const std::string begin = table.substr(how_->names().prefix.size()) + " column ";
        for (const std::string& each : known_shape()) {
            if (each.starts_with(begin)) {
                return each.substr(begin.size(), each.find(' ', begin.size()) - begin.size());
            }
        }
        throw std::logic_error("no column is known of " + table);
    }

    // If the URL leaves encryption to the server this asks whether the connection has it.
    void add_way(std::vector<finding>& found, connection& on) const {
        transport way = on.server().transport;
        if (way == transport::unverified) {
            const named_values cipher{read(on, "cipher")};
            if (cipher["Ssl_cipher"].empty()) way = transport::clear;
        }
        add_transport(
            found,
            way,
            "let the URL say ssl-mode=VERIFY_IDENTITY&ssl-ca=FILE, with the certificate of the "
            "server's authority in FILE"
        );
    }

    void add_own_connections(
        std::vector<finding>& found, connection& on, const diagnosis_settings& settings
    ) const {
        const result seen = read(on, "own_connections");
        using column = columns::health::own_connections;
        const row& own = seen.rows.at(0);
        if (own.integer(column::most) == 0) return;
        add_connections(
            found,
            own.integer(column::used),
            own.integer(column::most),
            settings,
            "user '" + own.bytes(column::user) + "'",
            "max_user_connections"
        );
    }

    void add_galera(
        std::vector<finding>& found, const named_values& variables, const named_values& status
    ) const {
        if (!variables.is_on("wsrep_on")) return;
        const std::string state = status["wsrep_local_state_comment"];
        if (state != "Synced" || status["wsrep_cluster_status"] != "Primary") {
            found.push_back(
                {severity::warning,
                 "node_not_ready",
                 "this node of the Galera cluster is '" + state + "', its part of the cluster '" +
                     status["wsrep_cluster_status"] + "'",
                 "it is behind the others, and each statement that waits for them takes longer or "
                 "fails",
                 "wait until it is Synced, or connect to another node"}
            );
        }
        add_several_writers(found, "Galera, " + status["wsrep_cluster_size"] + " nodes");
    }

    void add_group(std::vector<finding>& found, connection& on, const named_values& variables)
        const {
        const result members = read(on, "members");
        for (const row& each : members.rows) {
            const std::string& state = each.bytes(columns::health::members::state);
            if (!is_this(each) || state == "ONLINE") continue;
            found.push_back(
                {severity::warning,
                 "node_not_ready",
                 "this member of the group is " + state,
                 "it takes no writes, or has not all that the others have",
                 "wait until it is ONLINE, or connect to another member"}
            );
        }
        if (variables.is_on("group_replication_single_primary_mode")) {
            return add_primary(found, members);
        }
        add_several_writers(
            found, "Group Replication, " + std::to_string(members.rows.size()) + " members"
        );
    }

    static bool is_this(const row& member) {
        return number_or(member, columns::health::members::is_this, 0) != 0;
    }

    static void add_primary(std::vector<finding>& found, const result& members) {
        for (const row& each : members.rows) {
            if (!is_this(each)) continue;
            const bool is_primary = each.bytes(columns::health::members::role) == "PRIMARY";
            found.push_back(
                {severity::good,
                 "replication",
                 "Group Replication, " + std::to_string(members.rows.size()) +
                     " members, of which one takes writes: " +
                     (is_primary ? "this one" : "another one than this")}
            );
        }
    }

    // The doctor adds what the cluster means for this program.
    static void add_several_writers(std::vector<finding>& found, const std::string& cluster) {
        found.push_back(
            {severity::good, "several_writers", cluster + " that may be written to at once"}
        );
    }

    // Semi-synchronous replication: its settings have new names in MySQL since 8.0.26.
    static std::string semi_sync(
        const named_values& values, const std::string& before, const std::string& after
    ) {
        const std::string found = values[before + "source_" + after];
        return found.empty() ? values[before + "master_" + after] : found;
    }

    void add_replicas(
        std::vector<finding>& found,
        connection& on,
        const named_values& variables,
        const named_values& status
    ) const {
        const std::int64_t replicas =
            read(on, "replicas").rows.at(0).integer(columns::health::replicas::readers);
        const bool is_meant = semi_sync(variables, "rpl_semi_sync_", "enabled") == "ON";
        if (replicas == 0 && !is_meant) return;
        const std::string at_most =
            in_words(milliseconds_in(semi_sync(variables, "rpl_semi_sync_", "timeout")));
        const std::string clients = semi_sync(status, "Rpl_semi_sync_", "clients");
        std::string what = in_words(replicas, "replica") + (replicas == 1 ? " reads" : " read") +
                           " the binary log, and ";
        if (semi_sync(status, "Rpl_semi_sync_", "status") == "ON" && clients != "0") {
            what += "commits wait until " + count_waited_for(variables) + " (" +
                    semi_sync(variables, "rpl_semi_sync_", "wait_point") + "), for " + at_most +
                    " at most; where none answers for so long, they wait for nobody";
            found.push_back({severity::good, "replication", what});
            return;
        }
        what += is_meant ? "semi-synchronous replication is on, but has none to wait for"
                         : "no commit waits for any of them";
        found.push_back(
            {severity::warning,
             "replication",
             what,
             "where one takes over, grants may be forgotten and tokens given twice",
             is_meant ? "let a replica connect in which semi-synchronous replication is on as "
                        "well; where commits are to wait for longer than " +
                            at_most + ", raise the source's time-out"
                      : "use semi-synchronous replication, Galera or Group Replication; "
                        "docs/clusters.md"}
        );
    }

    static std::chrono::milliseconds milliseconds_in(const std::string& number) {
        return std::chrono::milliseconds{number.empty() ? 0 : std::stoll(number)};
    }

    // MariaDB waits for one.
    static std::string count_waited_for(const named_values& variables) {
        const std::string new_name = variables["rpl_semi_sync_source_wait_for_replica_count"];
        const std::string count =
            new_name.empty() ? variables["rpl_semi_sync_master_wait_for_slave_count"] : new_name;
        return count.empty() || count == "1" ? "one has it" : count + " have it";
    }

    // A replica that takes no writes either is reported as `unsuitable`.
    void add_sources(std::vector<finding>& found, connection& on, const named_values& variables)
        const {
        std::vector<std::string> sources;
        if (how_->which() == engine::mariadb) {
            for (const row& each : read(on, "sources_mariadb").rows) {
                const value& state = each.at("Slave_IO_State");
                if (state.is_null() || state.bytes().empty()) continue;
                const std::string port = std::to_string(each.integer("Master_Port"));
                sources.push_back(each.bytes("Master_Host") + ":" + port);
            }
        } else {
            for (const row& each : read(on, "sources_mysql").rows) {
                using column = columns::health::sources_mysql;
                const std::string port = std::to_string(each.integer(column::port));
                sources.push_back(each.bytes(column::host) + ":" + port);
            }
        }
        for (const std::string& each : sources) {
            const std::string what = "this server is a replica of " + each;
            if (variables.is_on("read_only")) {
                found.push_back({severity::good, "replication", what});
                continue;
            }
            found.push_back(
                {severity::warning,
                 "replication",
                 what + ", and takes writes of others as well",
                 "one can get a key here while another has it there, and what is written here can "
                 "stop the replication",
                 "let programs connect to " + each +
                     ", and set read_only here; where this server has taken over, end the "
                     "replication"}
            );
        }
    }

    void add_snapshot(
        std::vector<finding>& found, connection& on, const diagnosis_settings& settings
    ) const {
        const microseconds since = settings.snapshot_older_than;
        const result seen = read(on, "snapshot", {value_of(since)});
        if (seen.rows.empty()) return;
        const row& oldest = seen.rows[0];
        using column = columns::health::snapshot_on_mysql;
        const std::string number = std::to_string(oldest.integer(column::connection));
        const bool is_prepared = oldest.integer(column::connection) == 0;
        std::string who = is_prepared ? "a prepared transaction (XA)" : "connection " + number;
        if (!oldest.bytes(column::user).empty()) who += " of user " + oldest.bytes(column::user);
        if (!oldest.bytes(column::host).empty()) who += " at " + oldest.bytes(column::host);
        if (!oldest.bytes(column::state).empty()) who += ", state: " + oldest.bytes(column::state);
        found.push_back(
            {severity::warning,
             "old_snapshot",
             "a transaction is open for " +
                 in_words(microseconds{oldest.integer(column::open_for)}) + ": " + who,
             "no version of a row that it may see is removed, so that claims of jobs and "
             "heartbeats become slower",
             is_prepared ? "XA RECOVER, then XA COMMIT or XA ROLLBACK, as its manager says"
                         : "end it in its program, or: KILL " + number}
        );
    }

    void add_history(
        std::vector<finding>& found, connection& on, const diagnosis_settings& settings
    ) const {
        const result seen = read(on, "history");
        if (seen.rows.empty()) return;
        const std::int64_t length = only_integer(seen);
        if (length < settings.max_history_length) return;
        found.push_back(
            {severity::warning,
             "history_length",
             "InnoDB keeps " + std::to_string(length) + " changes whose old rows are not removed",
             "each statement that meets them goes through them: claims of jobs become slower",
             "look for old_snapshot above; otherwise give the purge more threads "
             "(innodb_purge_threads)"}
        );
    }
};

}  // namespace

std::unique_ptr<health_store> make_health_store(shared_dialect how) {
    return std::make_unique<mysql_health_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
