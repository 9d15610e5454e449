// The PostgreSQL driver behind pgbouncer in transaction mode: nothing may rely on the session.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "leasehold/driver/postgres.hpp"
#include "leasehold/migrate.hpp"
#include "postgres_support.hpp"
#include "support/findings.hpp"
#include "support/folder.hpp"
#include "support/patient.hpp"

namespace leasehold::testing_postgres {
namespace {

std::string pgbouncer_program() {
    for (const char* each :
         {"/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"}) {
        if (::access(each, X_OK) == 0) return each;
    }
    return "";
}

// A pgbouncer of our own on a private folder and a free port, in front of the test server. Every
// session it opens begins as if another client had left its mark there: serializable by default.
class pgbouncer {
public:
    pgbouncer(const address& server, const std::string& settings) : server_(server) {
        {
            const listener probe;  // its port is free again when pgbouncer starts
            server_.port = probe.port;
        }
        std::ofstream{folder_ / "pgbouncer.ini"}
            << "[databases]\n"
            << server.database << " = host=" << server.host << " port=" << server.port
            << " user=" << server.user << " password=" << server.password
            << " connect_query='SET default_transaction_isolation = serializable'\n"
            << "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << server_.port
            << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
            << settings;
        start();
    }
    pgbouncer(const pgbouncer&) = delete;
    pgbouncer& operator=(const pgbouncer&) = delete;
    ~pgbouncer() {
        ::kill(process_, SIGTERM);
        ::waitpid(process_, nullptr, 0);
    }

    const address& here() const { return server_; }

private:
    void start() {
        const std::string program = pgbouncer_program();
        const std::string settings = folder_ / "pgbouncer.ini";
        const std::string log = folder_ / "log";
        // It refuses to run as root, and then has to read its settings as somebody else.
        const bool is_root = ::geteuid() == 0;
        std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
        process_ = ::fork();
        if (process_ == 0) {
            const int file = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0644);
            ::dup2(file, STDOUT_FILENO);
            ::dup2(file, STDERR_FILENO);
            if (is_root) {
                ::execl(
                    program.c_str(), program.c_str(), "-u", "nobody", settings.c_str(), nullptr
                );
            }
            ::execl(program.c_str(), program.c_str(), settings.c_str(), nullptr);
            ::_exit(127);
        }
        const bool is_ready = poll_until([&] {
            const postgres::connection_handle probe{PQconnectdb(server_.url().c_str())};
            return PQstatus(probe.get()) == CONNECTION_OK;
        });
        std::stringstream words;
        words << std::ifstream{log}.rdbuf();
        EXPECT_TRUE(is_ready) << words.str();
    }

    address server_;
    const testing::folder folder_;
    pid_t process_ = -1;
};

class postgres_pooler_test : public postgres_test {
protected:
    void SetUp() override {
        postgres_test::SetUp();
        if (url_.empty()) return;
        if (!pgbouncer_program().empty()) {
            pooler_.emplace(address{url_}, "default_pool_size = 1\n");
        } else if (is_required()) {
            FAIL() << "postgres is required, and pgbouncer belongs to it: install pgbouncer";
        } else {
            GTEST_SKIP() << "pgbouncer is not installed";
        }
    }
    std::unique_ptr<connection> open_pooled(milliseconds limit = 10s) const {
        return postgres::connect(pooler_->here().url(), limit, {10s});
    }
    // Opens a pooler that hides itself: the driver takes it for a server.
    std::unique_ptr<connection> open_unaware() const {
        postgres::connection_handle handle{PQconnectdb(pooler_->here().url().c_str())};
        EXPECT_EQ(PQsetnonblocking(handle.get(), 1), 0);
        return std::make_unique<postgres::owned_connection>(std::move(handle), 10s);
    }

    std::optional<pgbouncer> pooler_;
};

constexpr const char* isolation = "SELECT current_setting('transaction_isolation')";

TEST_F(postgres_pooler_test, a_pooler_is_noticed_and_every_statement_is_read_committed) {
    const auto on = open_pooled();
    EXPECT_FALSE(on->can_notify());
    EXPECT_EQ(failure_of([&] { on->listen("news"); }).code(), errc::unsupported);
    EXPECT_EQ(on->execute(isolation).rows.at(0).text(0), "read committed");
    EXPECT_EQ(on->execute_script(isolation).rows.at(0).text(0), "read committed");
    on->begin();
    EXPECT_EQ(on->execute(isolation).rows.at(0).text(0), "read committed");
    EXPECT_EQ(on->execute_script(isolation).rows.at(0).text(0), "read committed");
    on->commit();
    EXPECT_EQ(on->state(), connection_state::idle);
}

TEST_F(postgres_pooler_test, a_read_that_requires_a_standby_is_done_without_one) {
    expect_nothing_is_required_of_reads(*open_pooled());
}

TEST_F(postgres_pooler_test, the_doctor_sees_that_it_lends_by_transaction) {
    database_settings settings = testing::patient();
    settings.names.prefix = "pooled_doctor_";
    const database db = postgres::open(pooler_->here().url(), settings);
    migrate(db);
    const auto all = diagnose(db);
    migrate_down(db, 0);
    const auto told = testing::find(all, "pooler");
    ASSERT_TRUE(told) << testing::names_of(all);
    EXPECT_NE(told->what.find("by transaction"), std::string::npos) << told->what;
}

TEST_F(postgres_pooler_test, the_shared_session_is_left_as_it_was) {
    const char* ask =
        "SELECT current_setting('default_transaction_isolation') || ' '"
        " || current_setting('statement_timeout') || ' '"
        " || current_setting('lock_timeout') || ' '"
        " || current_setting('enable_seqscan') || ' '"
        " || (SELECT count(*) FROM pg_prepared_statements)";
    const auto on = open_pooled(2s);
    EXPECT_EQ(on->execute(ask).rows.at(0).text(0), "serializable 1800ms 1800ms off 0");
    on->begin();
    EXPECT_EQ(on->execute(ask).rows.at(0).text(0), "serializable 1800ms 1800ms off 0");
    on->commit();
    on->set_is_callers(true);
    on->begin();
    EXPECT_EQ(on->execute(ask).rows.at(0).text(0), "serializable 1800ms 1800ms on 0");
    on->commit();
    const postgres::connection_handle other{PQconnectdb(pooler_->here().url().c_str())};
    PGresult* const got = PQexec(other.get(), ask);
    EXPECT_STREQ(PQgetvalue(got, 0, 0), "serializable 0 0 on 0");
    PQclear(got);
}

TEST_F(postgres_pooler_test, a_statement_is_still_one_round_trip) {
    proxy between{pooler_->here()};
    const auto on = postgres::connect(between.in_front_of(pooler_->here()).url(), 10s, {10s});
    for (int use = 0; use < 3; ++use) {
        const auto before = between.round_trips();
        EXPECT_EQ(on->execute("SELECT $1::int8 + 1", {use}).rows.at(0).integer(0), use + 1);
        EXPECT_EQ(between.round_trips(), before + 1);
    }
}

TEST_F(postgres_pooler_test, clients_that_share_one_session_do_not_disturb_each_other) {
    const auto first = open_pooled();
    const auto second = open_pooled();
    for (int use = 0; use < 4; ++use) {
        EXPECT_EQ(first->execute("SELECT $1", {1}).rows.at(0).integer(0), 1);
        EXPECT_EQ(second->execute("SELECT $1", {"x"}).rows.at(0).text(0), "x");
    }
    const std::string table = "pooled_" + std::to_string(backend_of(*first));
    first->execute("CREATE TABLE " + table + " (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    EXPECT_EQ(second->execute("INSERT INTO " + table + " VALUES (1)").affected_rows, 1);
    const auto fails = [&](const std::string& sql) {
        const error failure = failure_of([&] { first->execute(sql); });
        EXPECT_FALSE(failure.outcome_is_unknown());
        EXPECT_EQ(first->state(), connection_state::idle);
        EXPECT_EQ(second->execute("SELECT count(*) FROM " + table).rows.at(0).integer(0), 1);
        return failure.code();
    };
    EXPECT_EQ(fails("INSERT INTO " + table + " VALUES (1)"), errc::constraint);  // at COMMIT
    EXPECT_EQ(fails("INSERT INTO " + table + " VALUES (NULL, 2)"), errc::database_error);
    EXPECT_EQ(fails("SELECT * FROM no_such_table"), errc::schema_missing);
    EXPECT_EQ(
        failure_of([&] { first->execute_script("DELETE FROM " + table + "; SELECT 1/0"); }
        ).sqlstate(),
        "22012"
    );
    EXPECT_EQ(first->state(), connection_state::idle);
    first->begin();
    first->execute("DELETE FROM " + table);
    first->rollback();
    EXPECT_EQ(second->execute("SELECT count(*) FROM " + table).rows.at(0).integer(0), 1);
    first->execute("DROP TABLE " + table);
}

TEST_F(postgres_pooler_test, time_outs_hold_at_the_server_and_here) {
    auto on = open_pooled();
    const auto give_up = [&] {
        on->set_statement_timeout(2s);
        return failure_of([&] { on->execute("SELECT pg_sleep(30)"); });
    };
    error failure = give_up();
    // A machine that stands still for the 200 ms between both limits can let the client be first.
    for (int more = 4; more > 0 && failure.outcome_is_unknown(); --more) {
        on = open_pooled();
        failure = give_up();
    }
    EXPECT_EQ(failure.code(), errc::timed_out);
    EXPECT_EQ(failure.sqlstate(), "57014");
    EXPECT_FALSE(failure.outcome_is_unknown());
    EXPECT_EQ(on->state(), connection_state::idle);
    EXPECT_EQ(on->execute("SELECT 1").rows.size(), 1U);
    // The only session is taken by another client: nothing answers.
    const auto other = open_pooled();
    other->begin();
    on->set_statement_timeout(300ms);
    EXPECT_EQ(failure_of([&] { on->execute("SELECT 1"); }).code(), errc::timed_out);
    EXPECT_EQ(on->state(), connection_state::lost);
}

TEST_F(postgres_pooler_test, a_hidden_pooler_is_found_out_by_a_statement_that_exists_already) {
    const auto first = open_unaware();
    const auto second = open_unaware();
    EXPECT_EQ(first->execute("SELECT 1").rows.at(0).integer(0), 1);
    EXPECT_TRUE(second->can_notify());
    EXPECT_EQ(second->execute("SELECT 2").rows.at(0).integer(0), 2);  // 42P05 meanwhile
    EXPECT_FALSE(second->can_notify());
    EXPECT_EQ(second->execute(isolation).rows.at(0).text(0), "read committed");
}

TEST_F(postgres_pooler_test, a_hidden_pooler_is_found_out_by_a_statement_that_is_gone) {
    const auto on = open_unaware();
    EXPECT_EQ(on->execute("SELECT 1").rows.at(0).integer(0), 1);
    const postgres::connection_handle other{PQconnectdb(pooler_->here().url().c_str())};
    PQclear(PQexec(other.get(), "DEALLOCATE ALL"));
    EXPECT_EQ(on->execute("SELECT 1").rows.at(0).integer(0), 1);  // 26000 meanwhile
    EXPECT_FALSE(on->can_notify());
}

TEST_F(postgres_pooler_test, a_hidden_pooler_found_out_inside_a_transaction_asks_for_another_try) {
    const auto first = open_unaware();
    const auto second = open_unaware();
    first->execute("SELECT 1");
    second->begin();
    EXPECT_TRUE(failure_of([&] { second->execute("SELECT 2"); }).is_transient());
    second->rollback();
    second->begin();
    EXPECT_EQ(second->execute("SELECT 2").rows.at(0).integer(0), 2);
    second->commit();
}

}  // namespace
}  // namespace leasehold::testing_postgres
