#pragma once
// The common parts of the PostgreSQL driver's tests: the server, and ways to break a connection.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/postgres_connection.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"

namespace leasehold::testing_postgres {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The time a busy machine may add to a limit; without the limit these calls would never return.
inline constexpr milliseconds margin = 5000ms;

// Without a server: a failure if one is required, else a skip. Returns an empty URL then.
bool is_required();

class postgres_test : public ::testing::Test {
protected:
    void SetUp() override;
    std::unique_ptr<connection> open(milliseconds limit = 10s) const;
    // A raw libpq connection, for what the driver is not trusted to say of itself.
    postgres::connection_handle open_raw() const;

    std::string url_;
};

// Parts of a server's URL, to be changed and put together again.
struct address {
    explicit address(const std::string& url);
    std::string url() const;
    std::string host, port, user, password, database;
};

// The error that `action` throws; its absence is a failure of the test.
error failure_of(const std::function<void()>& action);

bool poll_until(const std::function<bool()>& holds, milliseconds timeout = 10s);

std::int64_t backend_of(connection& on);

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

// Listens on a free loopback port.
struct listener {
    listener();
    // The number of connections that came in since the last time; each is closed.
    int takes() const;
    descriptor socket;
    std::string port;
};

// Stands between a client and the server, and goes wrong on command.
class proxy {
public:
    explicit proxy(const address& server);
    ~proxy();

    address in_front_of(address server) const;
    // Answers are kept back from here on; nobody is told.
    void withhold_answers() { withholds_ = true; }
    std::int64_t withheld_bytes() const { return withheld_; }
    // Both sides see their connection closed.
    void cut() { cuts_ = true; }
    // The number of times the client spoke after the server had: its round trips.
    std::int64_t round_trips() const { return turns_; }

private:
    struct link {
        descriptor client, server;
        bool server_spoke = true;
    };
    void serve();
    bool forward(link& each);

    address server_;
    listener listening_;
    std::vector<link> links_;
    std::atomic<bool> ends_ = false, withholds_ = false, cuts_ = false;
    std::atomic<std::int64_t> withheld_ = 0, turns_ = 0;
    std::thread serving_;
};

// Speaks just enough of the protocol to say what a healthy server will not: one connection, one
// prepared reply for each time the client has finished speaking.
class fake_server {
public:
    explicit fake_server(std::vector<std::string> replies);
    ~fake_server();
    std::string url() const;

    static std::string message(char type, const std::string& body);
    static std::string text(const std::string& content) { return content + '\0'; }
    // E or N: severity, SQLSTATE, words, name of the server's function.
    static std::string report(
        char type,
        const std::string& severity,
        const std::string& sqlstate,
        const std::string& words,
        const std::string& function = "f"
    );
    static std::string greeting(const std::string& version);
    // The answer to the driver's set-up of a session.
    static std::string set_up_answer();
    static std::string answer_to(const std::string& verb);

private:
    void serve();

    std::vector<std::string> replies_;
    listener listening_;
    std::atomic<bool> ends_ = false;
    std::thread serving_;
};

// A statement that requires a standby and writes nothing is done on a server without one, too: no
// commit has waited.
void expect_nothing_is_required_of_reads(connection& on);

}  // namespace leasehold::testing_postgres
