#include "mysql_support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace leasehold::testing_mysql {
namespace {

constexpr int slice_ms = 10;  // how soon a proxy heeds a command

std::string environment(const char* name) {
    const char* content = std::getenv(name);
    return content == nullptr ? "" : content;
}

bool is_required(const std::string& backend) {
    const std::string list = "," + environment("LEASEHOLD_REQUIRED_BACKENDS") + ",";
    return list.find("," + backend + ",") != std::string::npos;
}

sockaddr_in loopback(int port) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(static_cast<std::uint16_t>(port));
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return here;
}

}  // namespace

void mysql_test::SetUp() {
    backend_ = environment("LEASEHOLD_TEST_BACKEND");
    ASSERT_TRUE(backend_ == "mariadb" || backend_ == "mysql")
        << "LEASEHOLD_TEST_BACKEND must be mariadb or mysql, and is \"" << backend_ << '"';
    const char* variable = is_mariadb() ? "LEASEHOLD_TEST_MARIADB_URL" : "LEASEHOLD_TEST_MYSQL_URL";
    url_ = environment(variable);
    if (url_.empty() && is_required(backend_)) {
        FAIL() << backend_ << " is required and " << variable << " is not set";
    }
    if (url_.empty()) GTEST_SKIP() << variable << " is not set: see tests/support/servers";
    address_ = mysql::parse_url(url_).at(0);
    static std::atomic<int> count = 0;
    name_ = "drv_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
}

void mysql_test::TearDown() {
    if (url_.empty()) return;
    const auto on = open();
    on->execute_script(named("DROP TABLE IF EXISTS {t}; DROP PROCEDURE IF EXISTS {t}"));
    on->execute(named("DROP USER IF EXISTS {t}@'%'"));
}

std::unique_ptr<connection> mysql_test::open(milliseconds limit) const {
    return mysql::connect(address_, limit, 10s);
}

std::unique_ptr<sql::Connection> mysql_test::open_raw(const sql::ConnectOptionsMap& more) const {
    mysql::announce_thread();
    sql::ConnectOptionsMap options{more};
    options["hostName"] = sql::SQLString{"tcp://" + place_of(address_)};
    options["userName"] = sql::SQLString{address_.user};
    options["password"] = sql::SQLString{address_.password};
    options["schema"] = sql::SQLString{address_.database};
    return std::unique_ptr<sql::Connection>{sql::mysql::get_driver_instance()->connect(options)};
}

std::string mysql_test::named(std::string text) const {
    for (auto at = text.find("{t}"); at != std::string::npos; at = text.find("{t}")) {
        text.replace(at, 3, name_);
    }
    return text;
}

void mysql_test::create_table(connection& on) const {
    on.execute(named("CREATE TABLE {t} (id INT PRIMARY KEY, n INT NOT NULL CHECK (n < 100))"));
    on.execute(named("INSERT INTO {t} VALUES (1, 0), (2, 0)"));
}

mysql::address mysql_test::create_account(connection& on, const std::string& rights) const {
    on.execute(named("CREATE USER {t}@'%' IDENTIFIED BY 'S3cr-et' " + rights));
    mysql::address theirs = address_;
    theirs.user = name_;
    theirs.password = "S3cr-et";
    return theirs;
}

error failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const error& thrown) {
        const std::string_view words{thrown.what()};
        EXPECT_EQ(words.find('\n'), std::string_view::npos) << words;
        return thrown;
    }
    ADD_FAILURE() << "nothing was thrown";
    return error{errc{}, "nothing was thrown"};
}

bool poll_until(const std::function<bool()>& holds, milliseconds timeout) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > until) return false;
        ::poll(nullptr, 0, slice_ms);
    }
    return true;
}

std::int64_t number_from(connection& on, std::string_view sql) {
    return on.execute(sql).rows.at(0).integer(0);
}

std::int64_t id_of(connection& on) {
    return number_from(on, "SELECT CONNECTION_ID()");
}

bool is_busy_with(connection& watching, std::int64_t id, const std::string& text) {
    return poll_until([&] {
        const result found = watching.execute(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ? AND info LIKE ?",
            {id, "%" + text + "%"}
        );
        return found.rows.at(0).integer(0) == 1;
    });
}

descriptor::~descriptor() {
    if (number_ >= 0) ::close(number_);
}

listener::listener() : socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in here = loopback(0);
    auto* const generic = reinterpret_cast<sockaddr*>(&here);
    socklen_t size = sizeof here;
    EXPECT_EQ(::bind(socket.number(), generic, size), 0) << std::strerror(errno);
    EXPECT_EQ(::listen(socket.number(), 8), 0) << std::strerror(errno);
    EXPECT_EQ(::getsockname(socket.number(), generic, &size), 0) << std::strerror(errno);
    port = ntohs(here.sin_port);
}

proxy::proxy(mysql::address server) : server_(std::move(server)), serving_([this] { serve(); }) {}

proxy::~proxy() {
    ends_ = true;
    serving_.join();
}

mysql::address proxy::in_front() const {
    mysql::address here = server_;
    here.host = "127.0.0.1";
    here.port = listening_.port;
    return here;
}

void proxy::serve() {
    descriptor client;
    descriptor server{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    bool is_open = true;
    while (!ends_ && is_open) {
        const bool waits = client.number() < 0;
        pollfd watched[]{
            {waits ? listening_.socket.number() : client.number(), POLLIN, 0},
            {waits ? -1 : server.number(), POLLIN, 0}};
        ::poll(watched, 2, slice_ms);
        if (waits && watched[0].revents != 0) {
            client = descriptor{::accept(listening_.socket.number(), nullptr, nullptr)};
            const sockaddr_in there = loopback(server_.port);
            const auto* const generic = reinterpret_cast<const sockaddr*>(&there);
            EXPECT_EQ(::connect(server.number(), generic, sizeof there), 0);
        } else {
            if (watched[0].revents != 0) is_open = forward(client, server, false);
            if (watched[1].revents != 0) is_open = is_open && forward(server, client, true);
        }
    }
}

bool proxy::forward(const descriptor& from, const descriptor& to, bool is_answer) {
    std::string bytes(65536, '\0');
    const auto count = ::recv(from.number(), bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    if (is_answer && withholds_) {
        withheld_ += count;
        return true;
    }
    if (!is_answer && std::exchange(server_spoke_, false)) ++turns_;
    if (is_answer) server_spoke_ = true;
    return ::send(to.number(), bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) > 0;
}

}  // namespace leasehold::testing_mysql
