#pragma once
// The common parts of the MySQL driver's tests: the server, and ways to break a connection.
//
// LEASEHOLD_TEST_BACKEND says which server a run is about: mariadb or mysql.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "driver/mysql_connection.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"

namespace leasehold::testing_mysql {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using namespace std::string_literals;

// Fails where the backend is required and no server was given, and skips where it is not.
class mysql_test : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    std::unique_ptr<connection> open(milliseconds limit = 10s) const;
    // A connection of Connector/C++ itself, as a caller would have it.
    std::unique_ptr<sql::Connection> open_raw(
        const sql::ConnectOptionsMap& more = sql::ConnectOptionsMap{}
    ) const;

    // `{t}` in `text` becomes a name of a table that is this test's alone and dropped at its end.
    std::string named(std::string text) const;
    // A table {t} with columns id (primary key) and n, and rows 1 and 2 with n = 0.
    void create_table(connection& on) const;

    // An account {t} of this test's alone, with the password "S3cr-et", and rights as given.
    mysql::address create_account(connection& on, const std::string& rights) const;

    bool is_mariadb() const { return backend_ == "mariadb"; }

    std::string backend_;
    std::string url_;
    mysql::address address_;
    std::string name_;
};

// The error that `action` throws; its absence is a failure of the test.
error failure_of(const std::function<void()>& action);

bool poll_until(const std::function<bool()>& holds, milliseconds timeout = 10s);

std::int64_t id_of(connection& on);

// Until the server shows connection `id` at a statement that contains `text`.
bool is_busy_with(connection& watching, std::int64_t id, const std::string& text);

std::int64_t number_from(connection& on, std::string_view sql);

// A file descriptor that is closed.
class descriptor {
public:
    explicit descriptor(int number = -1) noexcept : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor();
    int number() const noexcept { return number_; }

private:
    int number_;
};

// Listens on a free loopback port, and answers nobody.
struct listener {
    listener();
    descriptor socket;
    int port = 0;
};

// Stands between one client and the server, and keeps answers back on command.
class proxy {
public:
    explicit proxy(mysql::address server);
    ~proxy();

    mysql::address in_front() const;
    void withhold_answers() { withholds_ = true; }
    std::int64_t withheld_bytes() const { return withheld_; }
    // The number of times the client spoke after the server had: its round trips.
    std::int64_t round_trips() const { return turns_; }

private:
    void serve();
    bool forward(const descriptor& from, const descriptor& to, bool is_answer);

    mysql::address server_;
    listener listening_;
    bool server_spoke_ = true;
    std::atomic<bool> ends_ = false, withholds_ = false;
    std::atomic<std::int64_t> withheld_ = 0, turns_ = 0;
    std::thread serving_;
};

}  // namespace leasehold::testing_mysql
