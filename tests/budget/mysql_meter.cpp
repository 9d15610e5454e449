// MySQL and MariaDB, whichever LEASEHOLD_TEST_BACKEND names: the library comes as a user of its
// own with the rights of a program, and both servers count by user. MySQL in the performance
// schema, which MariaDB has switched off by default; MariaDB in its user statistics, which MySQL
// does not have.
#include <cstdlib>

#include "budget/meter.hpp"
#include "budget/relay.hpp"
#include "database/database.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/migrate.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

database_settings one_connection() {
    database_settings settings = patient();
    settings.max_connections = 1;
    return settings;
}

std::string backend_name() {
    const char* const name = std::getenv("LEASEHOLD_TEST_BACKEND");
    if (!name) throw std::runtime_error("set LEASEHOLD_TEST_BACKEND to mysql or mariadb");
    return name;
}

result ask(const database& db, const std::string& sql, const parameters& values = {}) {
    return db.inner()->use_unchecked([&](connection& on, store_set&) {
        return on.execute(sql, values);
    });
}

int port_of(const std::string& url) {
    const auto end = url.find('/', url.find("://") + 3);
    return std::stoi(url.substr(url.rfind(':', end) + 1));
}

// Every statement of a packet is counted for itself; Quit and the like are not statements. SELECT …
// INTO @variable "affects" a row.
constexpr const char* mysql_counts =
    "SELECT CAST(COALESCE(SUM(count_star), 0) AS SIGNED), CAST(COALESCE(SUM("
    "IF(event_name = 'statement/sql/select', 0, sum_rows_affected)), 0) AS SIGNED) "
    "FROM performance_schema.events_statements_summary_by_user_by_event_name "
    "WHERE user = ? AND event_name LIKE 'statement/sql/%'";

constexpr const char* mariadb_counts =
    "SELECT COALESCE(SUM(select_commands + update_commands + other_commands), 0), "
    "COALESCE(SUM(rows_inserted + rows_updated + rows_deleted), 0) "
    "FROM information_schema.user_statistics WHERE user = ?";

}  // namespace

// A packet of several statements is one round trip. MariaDB reports a grant by the statement that
// makes it, and MySQL by a second one; both count a row that an INSERT changes twice. A key never
// seen costs two packets more, of four and five statements: the whole packet has a look at whether
// a dead holder's row can be had.
budget allowed() {
    const int of_small = backend_name() == "mariadb" ? 1 : 2;
    return {
        .grant = {1, of_small, 2},
        .new_grant = {3, 9 + of_small, 2},
        .usual_new_grant = {2, 9, 2},
        .refusal = {1, 1, 0},
        .release = {1, 1, 2},
        .heartbeat = {1, 1, 1},
        .proof = {1, 1, 0},
        .life = {2, 14, 4},
        .nothing = {1, 1, 0},
    };
}

class meter::state {
public:
    state()
        : is_mariadb_(backend_name() == "mariadb"),
          server_(require_url(backend_name())),
          watch_(mysql::open(server_, one_connection())),
          relay_(port_of(server_)),
          name_(fresh_prefix() + "budget") {
        if (name_of(watch_.server().engine) != backend_name()) {
            throw std::runtime_error("the server for " + backend_name() + " is another one");
        }
        switch_on();
        ask(watch_, "CREATE DATABASE " + name_);
        ask(watch_, "CREATE USER '" + name_ + "'@'%' IDENTIFIED BY 'budget'");
        const database owned = mysql::open(with_database(server_, name_), patient());
        migrate(owned);
        const std::string grants = grants_sql(watch_.server().engine, {}, name_);
        owned.inner()->use_unchecked([&](connection& on, store_set&) { on.execute_script(grants); }
        );
    }
    ~state() {
        ask(watch_, "DROP USER '" + name_ + "'@'%'");
        ask(watch_, "DROP DATABASE " + name_);
        if (is_mariadb_ && !had_statistics_) ask(watch_, "SET GLOBAL userstat = 0");
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    database open() const {
        const std::string as_ours = with_user(with_database(server_, name_), name_, "budget");
        const std::string url = with_option(with_port(as_ours, relay_.port()), "ssl-mode=DISABLED");
        return mysql::open(url, one_connection());
    }
    row counts() const {
        return ask(watch_, is_mariadb_ ? mariadb_counts : mysql_counts, {name_}).rows.at(0);
    }

    const bool is_mariadb_;
    const std::string server_;
    const database watch_;
    const relay relay_;
    const std::string name_;

private:
    void switch_on() {
        if (is_mariadb_) {
            had_statistics_ = ask(watch_, "SELECT @@userstat").rows.at(0).integer(0) != 0;
            ask(watch_, "SET GLOBAL userstat = 1");
            return;
        }
        const auto enabled =
            ask(watch_,
                "SELECT @@performance_schema, "
                "(SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE enabled = 'YES' "
                "AND name IN ('global_instrumentation', 'thread_instrumentation')), "
                "(SELECT COUNT(*) FROM performance_schema.setup_instruments "
                "WHERE name LIKE 'statement/sql/%' AND enabled = 'NO')");
        const row& found = enabled.rows.at(0);
        if (found.integer(0) != 1 || found.integer(1) != 2 || found.integer(2) != 0) {
            throw std::runtime_error("this server's performance schema counts no statements");
        }
    }

    bool had_statistics_ = false;
};

meter::meter() : state_(std::make_unique<state>()) {}
meter::~meter() = default;

database meter::open() const {
    return state_->open();
}

cost meter::spent() const {
    const row found = state_->counts();
    return {state_->relay_.round_trips(), found.integer(0), found.integer(1)};
}

// The end of InnoDB's log, in bytes.
std::int64_t meter::writes() const {
    const std::string status = ask(state_->watch_, "SHOW ENGINE INNODB STATUS").rows.at(0).text(2);
    constexpr std::string_view title = "Log sequence number";
    const auto at = status.find(title);
    if (at == std::string::npos)
        throw std::runtime_error("InnoDB does not say how long its log is");
    return std::stoll(status.substr(at + title.size()));
}

std::optional<std::int64_t> meter::writes_per_transaction() {
    return std::nullopt;
}

bool meter::is_alone() {
    return false;
}

std::optional<std::int64_t> meter::logged() const {
    return std::nullopt;
}

void meter::settle() const {}

bool meter::counts_flushes() {
    return false;
}

std::int64_t meter::flushes(const database&) const {
    return 0;
}

}  // namespace leasehold::testing
