// The MySQL driver connects, encrypts, and says why it cannot.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "core/program_name.hpp"
#include "leasehold/driver/mysql.hpp"
#include "mysql_support.hpp"
#include "support/inherited.hpp"

namespace leasehold::testing_mysql {
namespace {

class mysql_connect : public mysql_test {
protected:
    error refusal_of(const mysql::address& to, milliseconds timeout = 10s) const {
        const auto refused = failure_of([&] { mysql::connect(to, 10s, timeout); });
        EXPECT_FALSE(refused.outcome_is_unknown());
        const std::string words = refused.what();
        EXPECT_EQ(words.find("S3cr-et"), std::string::npos) << words;
        EXPECT_EQ(refused.server_message().find("S3cr-et"), std::string::npos) << words;
        return refused;
    }

    std::string cipher_of(connection& on) const {
        return on.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'").rows.at(0).text(1);
    }

    // The path as seen from here: the server may live in a tree of its own.
    std::string socket_of_server() const {
        const char* const data =
            std::getenv(is_mariadb() ? "LEASEHOLD_TEST_MARIADB_DATA" : "LEASEHOLD_TEST_MYSQL_DATA");
        if (!data) return open()->execute("SELECT @@socket").rows.at(0).text(0);
        return std::filesystem::path{data}.parent_path() / "socket";
    }

    bool server_has_tls() const {
        auto plain = address_;
        plain.tls = mysql::tls_mode::preferred;
        return !cipher_of(*mysql::connect(plain, 10s, 10s)).empty();
    }
};

void expect_words(const error& refused, std::string_view wanted) {
    EXPECT_NE(std::string_view{refused.what()}.find(wanted), std::string_view::npos)
        << refused.what();
}

TEST_F(mysql_connect, a_connection_is_named_among_its_attributes) {
    const auto name_of = [](connection& on) {
        const result found = on.execute(
            "SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs"
            " WHERE PROCESSLIST_ID = CONNECTION_ID() AND ATTR_NAME = 'program_name'"
        );
        return found.rows.empty() ? std::string{"none"} : found.rows[0].text(0);
    };
    const auto named = mysql::connect(address_, 10s, 10s, "nightly");
    if (named->execute("SELECT @@performance_schema").rows.at(0).integer(0) == 0) {
        GTEST_SKIP() << "this server keeps no attributes: performance_schema is off";
    }
    EXPECT_EQ(name_of(*named), connection_name("nightly"));
    EXPECT_EQ(name_of(*mysql::connect(address_, 10s, 10s)), connection_name({}));
}

TEST_F(mysql_connect, a_wrong_password_is_refused_and_not_repeated) {
    auto to = address_;
    to.password = "S3cr-et";
    const auto refused = refusal_of(to);
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_EQ(refused.native_code(), 1045);
    EXPECT_FALSE(refused.is_transient());
    expect_words(refused, "refused the password of user " + address_.user);
    expect_words(refused, place_of(address_));
}

TEST_F(mysql_connect, an_unknown_user_is_refused) {
    auto to = address_;
    to.user = "nobody_of_that_name";
    to.password = "S3cr-et";
    EXPECT_EQ(refusal_of(to).code(), errc::connection_failed);
}

TEST_F(mysql_connect, a_closed_port_may_open_again) {
    auto to = address_;
    {
        const listener was_free;
        to.port = was_free.port;
    }
    to.password = "S3cr-et";
    const auto refused = refusal_of(to);
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_TRUE(refused.is_transient());
    expect_words(refused, "cannot be reached");
}

TEST_F(mysql_connect, an_unknown_host_is_said) {
    auto to = address_;
    to.host = "no-such-host.invalid";
    to.password = "S3cr-et";
    const auto refused = refusal_of(to);
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_EQ(refused.native_code(), 2005);
    EXPECT_FALSE(refused.is_transient());
    expect_words(refused, "no-such-host.invalid");
}

TEST_F(mysql_connect, an_unknown_database_is_said) {
    auto to = address_;
    to.database = "no_such_database";
    const auto refused = refusal_of(to);
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_EQ(refused.native_code(), 1049);
    expect_words(refused, "no database no_such_database");
}

TEST_F(mysql_connect, a_database_without_rights_is_said) {
    const auto theirs = create_account(*open(), "");
    const auto refused = refusal_of(theirs);
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_EQ(refused.native_code(), 1044);
    expect_words(refused, name_);
}

TEST_F(mysql_connect, a_full_server_may_have_room_later) {
    const auto on = open();
    const auto theirs = create_account(*on, "WITH MAX_USER_CONNECTIONS 1");
    on->execute(named("GRANT SELECT ON " + address_.database + ".* TO {t}@'%'"));
    const auto only = mysql::connect(theirs, 10s, 10s);
    const auto refused = refusal_of(theirs);
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_EQ(refused.native_code(), 1226);
    EXPECT_TRUE(refused.is_transient());
}

TEST_F(mysql_connect, a_host_that_never_answers_is_given_up) {
    const listener silent;
    auto to = address_;
    to.host = "127.0.0.1";
    to.port = silent.port;
    to.password = "S3cr-et";
    const auto before = std::chrono::steady_clock::now();
    const auto refused = refusal_of(to, 500ms);
    EXPECT_LT(std::chrono::steady_clock::now() - before, 8s);  // a whole second, and a busy machine
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_TRUE(refused.is_transient());
}

TEST_F(mysql_connect, without_a_word_about_tls_it_is_used_where_the_server_has_it) {
    auto to = address_;
    to.tls = mysql::tls_mode::disabled;
    EXPECT_EQ(cipher_of(*mysql::connect(to, 10s, 10s)), "");
    if (!is_mariadb()) {
        EXPECT_TRUE(server_has_tls());  // MySQL has it from the start
    }
}

TEST_F(mysql_connect, required_encryption_is_there_or_the_connection_is_not) {
    auto to = address_;
    to.tls = mysql::tls_mode::required;
    if (server_has_tls()) {
        EXPECT_NE(cipher_of(*mysql::connect(to, 10s, 10s)), "");
    } else {
        const auto refused = refusal_of(to);
        EXPECT_EQ(refused.code(), errc::connection_failed);
        expect_words(refused, "ssl-mode=REQUIRED");
    }
}

TEST_F(mysql_connect, a_server_that_cannot_prove_its_name_is_not_believed) {
    auto to = address_;
    to.tls = mysql::tls_mode::verify_identity;  // the test's servers sign their own certificates
    to.password = "S3cr-et";                    // which is not even asked for
    const auto refused = refusal_of(to);
    EXPECT_EQ(refused.code(), errc::connection_failed);
    EXPECT_EQ(refused.native_code(), 2026);
    EXPECT_FALSE(refused.is_transient()) << refused.what();
    expect_words(refused, "TLS");
}

TEST_F(mysql_connect, a_wrong_authority_is_not_ignored) {
    auto to = address_;
    to.authority_file = "/nonexistent/ca.pem";
    to.tls = mysql::tls_mode::verify_identity;
    const auto refused = refusal_of(to);
    EXPECT_EQ(refused.native_code(), 2026);
    EXPECT_FALSE(refused.is_transient()) << refused.what();
    if (server_has_tls()) {
        to.tls = mysql::tls_mode::required;
        EXPECT_EQ(refusal_of(to).native_code(), 2026);
    }
}

TEST_F(mysql_connect, tls_that_the_client_library_cannot_do_is_refused) {
    if (mysql::has_ssl_mode) GTEST_SKIP() << "this client library can do VERIFY_CA";
    auto to = address_;
    to.tls = mysql::tls_mode::verify_authority;
    const auto refused = refusal_of(to);
    EXPECT_EQ(refused.code(), errc::unsupported);
    expect_words(refused, "VERIFY_CA");
}

TEST_F(mysql_connect, malformed_urls_are_refused_at_once) {
    for (const char* each :
         {"mysql://a:S3cr-et@h", "mysql://a:S3cr-et@h:x/d", "mysql://a:S3cr-et@h/d?compress=1"}) {
        const auto refused = failure_of([&] { mysql::open(each); });
        EXPECT_EQ(refused.code(), errc::invalid_argument) << each;
        const std::string words = refused.what();
        EXPECT_EQ(words.find("S3cr-et"), std::string::npos) << words;
    }
    EXPECT_NO_THROW(mysql::open("mysql://a:b@no-such-host.invalid/d"));  // connects to nothing
}

TEST_F(mysql_connect, a_password_may_come_from_the_environment) {
    const auto colon = url_.find(':', 8);
    ASSERT_LT(colon, url_.find('@'));
    const std::string without = url_.substr(0, colon) + url_.substr(url_.find('@'));
    ::setenv("MYSQL_PWD", address_.password.c_str(), 1);
    const database right = mysql::open(without);
    ::setenv("MYSQL_PWD", "S3cr-et", 1);
    const database wrong = mysql::open(without);
    ::unsetenv("MYSQL_PWD");
    EXPECT_EQ(right.server().engine, is_mariadb() ? engine::mariadb : engine::mysql);
    EXPECT_EQ(failure_of([&] { wrong.server(); }).native_code(), 1045);
}

TEST_F(mysql_connect, a_socket_and_an_option_file_lead_to_the_same_server) {
    const std::string socket = socket_of_server();
    const std::string path = ::testing::TempDir() + name_ + ".cnf";
    {
        std::ofstream file{path};
        file << "[mysqld]\nport = 1\n[client]\nuser = " << address_.user << "\npassword = \""
             << address_.password << "\"\ndatabase = " << address_.database << "\n";
    }
    const auto who = [&](const std::string& url) {
        const database db = mysql::open(url);
        return db.server().engine;
    };
    const auto expected = is_mariadb() ? engine::mariadb : engine::mysql;
    EXPECT_EQ(who("mysql:///?socket=" + socket + "&defaults_file=" + path), expected);
    EXPECT_EQ(who("mysql://" + place_of(address_) + "?defaults_file=" + path), expected);
    const auto refused = failure_of([&] {
        who("mysql://nobody_of_that_name@localhost/?socket=" + socket + "&defaults_file=" + path);
    });
    EXPECT_EQ(refused.code(), errc::connection_failed);
    expect_words(refused, socket);
    auto to = address_;
    to.host.clear();
    to.port = 0;
    to.socket = "/nonexistent/mysqld.sock";
    EXPECT_TRUE(refusal_of(to).is_transient()) << "a server may come to listen there";
    std::remove(path.c_str());
}

TEST_F(mysql_connect, threads_may_connect_at_once) {
    std::vector<std::future<std::int64_t>> answers;
    for (int thread = 0; thread < 8; ++thread) {
        answers.push_back(std::async(std::launch::async, [this, thread] {
            std::int64_t sum = 0;
            for (int round = 0; round < 3; ++round) {
                sum += open()->execute("SELECT ?", {thread}).rows.at(0).integer(0);
            }
            return sum;
        }));
    }
    for (std::size_t thread = 0; thread < answers.size(); ++thread) {
        EXPECT_EQ(answers[thread].get(), static_cast<std::int64_t>(3 * thread));
    }
}

TEST_F(mysql_connect, a_connection_may_move_to_another_thread) {
    auto on = open();
    const auto answer = [](std::unique_ptr<connection> moved) {
        return number_from(*moved, "SELECT 7");
    };
    EXPECT_EQ(std::async(std::launch::async, answer, std::move(on)).get(), 7);
}

TEST_F(mysql_connect, a_program_that_is_started_inherits_no_connection) {
    const int before = testing::inherited_sockets();
    ASSERT_GE(before, 0);
    const auto on = open();
    EXPECT_EQ(testing::inherited_sockets(), before);
    EXPECT_EQ(number_from(*on, "SELECT 7"), 7);
}

}  // namespace
}  // namespace leasehold::testing_mysql
