// A server that is none: it offers no TLS and asks for the password in clear.
// This comes first: the rest declares a leasehold::testing, which hides the framework's.
#include "mysql_support.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <vector>

namespace leasehold::testing_mysql {
namespace {

constexpr std::string_view secret = "S3cr-et";

// A packet in the protocol of MySQL: the length in three bytes, a number, the content.
std::string packet(char number, const std::string& content) {
    std::string made(4, '\0');
    made[0] = static_cast<char>(content.size() & 0xff);
    made[1] = static_cast<char>(content.size() >> 8U);
    made[3] = number;
    return made + content;
}

std::string greeting() {
    const std::string scramble = "abcdefghijklmnopqrst";
    std::string text =
        "\x0a"
        "8.0.36"s;
    text += '\0';
    text += "\x01\x00\x00\x00"s + scramble.substr(0, 8) + '\0';
    // PROTOCOL_41, CONNECT_WITH_DB, SECURE_CONNECTION; utf8mb4; autocommit; PLUGIN_AUTH.
    text += "\x09\x82\x2d\x02\x00\x08\x00\x15"s + std::string(10, '\0');
    text += scramble.substr(8) + '\0' + "mysql_native_password" + '\0';
    return text;
}

// The server's words after its greeting, one after each of the client's.
using script = std::vector<std::string>;

// Takes one client, says what is in the script, and listens until it hangs up.
class impostor {
public:
    explicit impostor(script says)
        : says_(std::move(says)),
          heard_(std::async(std::launch::async, [this] { return serve(); })) {}
    // Asks the client to answer by that plugin.
    explicit impostor(const std::string& plugin)
        : impostor(script{
              packet(2, "\xfe" + plugin + '\0' + "Password: " + '\0'),
              packet(4, "\xff\x15\x04#28000Access denied"s)}) {}

    int port() const { return listening_.port; }
    // All that the client has said.
    std::string heard() { return heard_.get(); }

private:
    std::string serve() const {
        const descriptor client{::accept(listening_.socket.number(), nullptr, nullptr)};
        const auto say = [&](const std::string& text) {
            ::send(client.number(), text.data(), text.size(), MSG_NOSIGNAL);
        };
        say(packet(0, greeting()));
        std::string all;
        for (std::size_t turn = 0;; ++turn) {
            std::string bytes(4096, '\0');
            const auto count = ::recv(client.number(), bytes.data(), bytes.size(), 0);
            if (count <= 0) return all;
            all += bytes.substr(0, static_cast<std::size_t>(count));
            if (turn < says_.size()) say(says_[turn]);
        }
    }

    const script says_;
    const listener listening_;
    std::future<std::string> heard_;
};

class mysql_password : public mysql_test {
protected:
    mysql::address at(const impostor& there) const {
        mysql::address to = address_;
        to.host = "127.0.0.1";
        to.port = there.port();
        to.password = secret;
        return to;
    }
};

TEST_F(mysql_password, is_not_given_in_clear_to_whoever_asks) {
    for (const char* plugin : {"mysql_clear_password", "dialog"}) {
        for (const auto mode :
             {mysql::tls_mode::disabled,
              mysql::tls_mode::preferred,
              mysql::tls_mode::required,
              mysql::tls_mode::verify_identity}) {
            impostor there{plugin};
            auto to = at(there);
            to.tls = mode;
            const auto refused = failure_of([&] { mysql::connect(to, 10s, 10s); });
            EXPECT_EQ(there.heard().find(secret), std::string::npos) << plugin;
            EXPECT_EQ(refused.code(), errc::connection_failed) << refused.what();
            EXPECT_FALSE(refused.is_transient()) << refused.what();
            const std::string words = refused.what();
            EXPECT_EQ(words.find(secret), std::string::npos) << words;
            const bool is_said = words.find("in clear") != std::string::npos;
            EXPECT_EQ(is_said, mode != mysql::tls_mode::verify_identity) << words;
        }
    }
}

// This proves that the test above can fail.
TEST_F(mysql_password, would_be_heard_by_such_a_server) {
    if (mysql::has_ssl_mode) GTEST_SKIP() << "this client library gives it to nobody";
    impostor there{"mysql_clear_password"};
    const auto to = at(there);
    const mysql::address kept = std::exchange(address_, to);
    EXPECT_THROW(open_raw(), sql::SQLException);
    address_ = kept;
    EXPECT_NE(there.heard().find(secret), std::string::npos);
}

// A server may answer any statement with the name of a file that it would like to have.
TEST_F(mysql_password, no_file_is_given_to_a_server_that_asks_for_one) {
    char path[] = "/tmp/leasehold-secret-XXXXXX";
    const descriptor file{::mkstemp(path)};
    const std::string content = std::string{secret} + " of a file\n";
    ASSERT_EQ(::write(file.number(), content.data(), content.size()), ssize_t(content.size()));
    const std::string done = "\x00\x00\x00\x02\x00\x00\x00"s;
    impostor there{script{packet(2, done), packet(1, "\xfb"s + path), packet(3, done)}};
    auto to = at(there);
    to.tls = mysql::tls_mode::disabled;
    const auto refused = failure_of([&] { mysql::connect(to, 10s, 10s); });
    EXPECT_EQ(there.heard().find(content), std::string::npos) << refused.what();
    ::unlink(path);
}

// Nor does the driver send it where the statement asks for it, and the server has that switched on.
TEST_F(mysql_password, load_data_local_is_refused) {
    char path[] = "/tmp/leasehold-rows-XXXXXX";
    const descriptor file{::mkstemp(path)};
    ASSERT_EQ(::write(file.number(), "7\t7\n", 4), 4);
    const auto on = open();
    create_table(*on);
    const auto was = number_from(*on, "SELECT @@GLOBAL.local_infile");
    on->execute("SET GLOBAL local_infile = ON");
    const auto refused = failure_of([&] {
        on->execute(named("LOAD DATA LOCAL INFILE '"s + path + "' INTO TABLE {t}"));
    });
    // The server says so as the client has not offered it.
    const bool is_by_capability = refused.native_code() == 3948 || refused.native_code() == 4166;
    EXPECT_TRUE(is_by_capability) << refused.what();
    const auto other = open();
    EXPECT_EQ(number_from(*other, "SELECT @@GLOBAL.local_infile"), 1);
    EXPECT_EQ(number_from(*other, named("SELECT COUNT(*) FROM {t}")), 2);
    if (was == 0) other->execute("SET GLOBAL local_infile = OFF");
    ::unlink(path);
}

}  // namespace
}  // namespace leasehold::testing_mysql
