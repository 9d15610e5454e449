#include "postgres_support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace leasehold::testing_postgres {
namespace {

constexpr int slice_ms = 10;  // how soon a proxy heeds a command

bool is_readable(int socket, int timeout_ms) {
    pollfd watched{socket, POLLIN, 0};
    return ::poll(&watched, 1, timeout_ms) > 0;
}

void write_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (written <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

// Empty at the end of the stream.
std::string read_some(int socket) {
    std::string bytes(65536, '\0');
    const auto count = ::recv(socket, bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
}

std::string big_endian(std::uint32_t number, int size) {
    std::string bytes;
    for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) {
        bytes.push_back(static_cast<char>(number >> shift & 0xffU));
    }
    return bytes;
}

}  // namespace

bool is_required() {
    const char* required = std::getenv("LEASEHOLD_REQUIRED_BACKENDS");
    const std::string list = "," + std::string{required == nullptr ? "" : required} + ",";
    return list.find(",postgres,") != std::string::npos;
}

void postgres_test::SetUp() {
    const char* url = std::getenv("LEASEHOLD_TEST_POSTGRES_URL");
    if (url != nullptr) {
        url_ = url;
    } else if (is_required()) {
        FAIL() << "postgres is required and LEASEHOLD_TEST_POSTGRES_URL is not set";
    } else {
        GTEST_SKIP() << "LEASEHOLD_TEST_POSTGRES_URL is not set: see tests/support/servers";
    }
}

std::unique_ptr<connection> postgres_test::open(milliseconds limit) const {
    return postgres::connect(url_, limit, {10s});
}

postgres::connection_handle postgres_test::open_raw() const {
    postgres::connection_handle handle{PQconnectdb(url_.c_str())};
    EXPECT_EQ(PQstatus(handle.get()), CONNECTION_OK) << PQerrorMessage(handle.get());
    return handle;
}

address::address(const std::string& url) {
    PQconninfoOption* options = PQconninfoParse(url.c_str(), nullptr);
    for (const PQconninfoOption* each = options; each != nullptr && each->keyword; ++each) {
        const std::string_view keyword{each->keyword};
        const std::string text{each->val == nullptr ? "" : each->val};
        if (keyword == "host") host = text;
        if (keyword == "port") port = text;
        if (keyword == "user") user = text;
        if (keyword == "password") password = text;
        if (keyword == "dbname") database = text;
    }
    PQconninfoFree(options);
}

std::string address::url() const {
    return "postgresql://" + user + ":" + password + "@" + host + ":" + port + "/" + database;
}

error failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const error& thrown) {
        EXPECT_EQ(std::string_view{thrown.what()}.find('\n'), std::string_view::npos)
            << thrown.what();
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

std::int64_t backend_of(connection& on) {
    return on.execute("SELECT pg_backend_pid()").rows.at(0).integer(0);
}

descriptor::~descriptor() {
    if (number_ >= 0) ::close(number_);
}

listener::listener() : socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&here);
    socklen_t size = sizeof here;
    EXPECT_EQ(::bind(socket.number(), generic, size), 0) << std::strerror(errno);
    EXPECT_EQ(::listen(socket.number(), 8), 0) << std::strerror(errno);
    EXPECT_EQ(::getsockname(socket.number(), generic, &size), 0) << std::strerror(errno);
    port = std::to_string(ntohs(here.sin_port));
}

int listener::takes() const {
    int count = 0;
    for (; is_readable(socket.number(), 0); ++count) {
        const descriptor taken{::accept(socket.number(), nullptr, nullptr)};
    }
    return count;
}

proxy::proxy(const address& server) : server_(server), serving_([this] { serve(); }) {}

proxy::~proxy() {
    ends_ = true;
    serving_.join();
}

address proxy::in_front_of(address server) const {
    server.host = "127.0.0.1";
    server.port = listening_.port;
    return server;
}

void proxy::serve() {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<std::uint16_t>(std::stoi(server_.port)));
    ::inet_pton(AF_INET, server_.host.c_str(), &there.sin_addr);
    while (!ends_) {
        std::vector<pollfd> watched{{listening_.socket.number(), POLLIN, 0}};
        for (const link& each : links_) {
            watched.push_back({each.client.number(), POLLIN, 0});
            watched.push_back({each.server.number(), POLLIN, 0});
        }
        ::poll(watched.data(), watched.size(), slice_ms);
        if (cuts_.exchange(false)) links_.clear();
        std::erase_if(links_, [&](link& each) { return !forward(each); });
        if ((watched[0].revents & POLLIN) == 0) continue;
        link fresh{
            descriptor{::accept(listening_.socket.number(), nullptr, nullptr)},
            descriptor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}};
        const auto* const generic = reinterpret_cast<const sockaddr*>(&there);
        EXPECT_EQ(::connect(fresh.server.number(), generic, sizeof there), 0);
        links_.push_back(std::move(fresh));
    }
}

bool proxy::forward(link& each) {
    if (is_readable(each.client.number(), 0)) {
        const std::string bytes = read_some(each.client.number());
        if (bytes.empty()) return false;
        if (std::exchange(each.server_spoke, false)) ++turns_;
        write_all(each.server.number(), bytes);
    }
    if (is_readable(each.server.number(), 0)) {
        const std::string bytes = read_some(each.server.number());
        if (bytes.empty()) return false;
        each.server_spoke = true;
        if (withholds_) {
            withheld_ += static_cast<std::int64_t>(bytes.size());
        } else {
            write_all(each.client.number(), bytes);
        }
    }
    return true;
}

fake_server::fake_server(std::vector<std::string> replies)
    : replies_(std::move(replies)), serving_([this] { serve(); }) {}

fake_server::~fake_server() {
    ends_ = true;
    serving_.join();
}

std::string fake_server::url() const {
    return "postgresql://nobody:hidden@127.0.0.1:" + listening_.port + "/app?sslmode=disable" +
           "&gssencmode=disable";
}

std::string fake_server::message(char type, const std::string& body) {
    return type + big_endian(static_cast<std::uint32_t>(body.size() + 4), 4) + body;
}

std::string fake_server::report(
    char type,
    const std::string& severity,
    const std::string& sqlstate,
    const std::string& words,
    const std::string& function
) {
    return message(
        type,
        "S" + text("SCHLIMM") + "V" + text(severity) + "C" + text(sqlstate) + "M" + text(words) +
            "F" + text("f.c") + "L" + text("1") + "R" + text(function) + '\0'
    );
}

std::string fake_server::greeting(const std::string& version) {
    return message('R', big_endian(0, 4)) + message('S', text("server_version") + text(version)) +
           message('K', big_endian(4711, 4) + big_endian(0, 4)) + message('Z', "I");
}

std::string fake_server::set_up_answer() {
    struct column {
        std::string name;
        std::string value;
        bool is_truth = false;
    };
    const std::vector<column> columns{
        {"is_shared", "f", true},
        {"default_transaction_isolation", "read committed"},
        {"statement_timeout", "9500"},
        {"lock_timeout", "9500"},
        {"checks_client", "t", true},
        {"is_standby", "f", true},
        {"origin", "origin"},
        {"system", "1"},
        {"timeline", "00000001"}};
    std::string names = big_endian(static_cast<std::uint32_t>(columns.size()), 2);
    std::string values = names;
    for (const column& each : columns) {
        names += text(each.name) + big_endian(0, 4) + big_endian(0, 2) +
                 big_endian(each.is_truth ? 16 : 25, 4) + big_endian(0, 2) + big_endian(0, 4) +
                 big_endian(0, 2);
        values += big_endian(static_cast<std::uint32_t>(each.value.size()), 4) + each.value;
    }
    return message('1', "") + message('2', "") + message('T', names) + message('D', values) +
           message('C', text("SELECT 1")) + message('Z', "I");
}

std::string fake_server::answer_to(const std::string& verb) {
    return message('C', text(verb)) + message('Z', verb == "BEGIN" ? "T" : "I");
}

void fake_server::serve() {
    std::size_t next = 0;
    descriptor client;
    while (!ends_) {
        const bool waits = client.number() < 0;
        if (!is_readable(waits ? listening_.socket.number() : client.number(), slice_ms)) continue;
        if (waits) {
            client = descriptor{::accept(listening_.socket.number(), nullptr, nullptr)};
            continue;
        }
        if (read_some(client.number()).empty()) return;
        if (next < replies_.size()) write_all(client.number(), replies_[next++]);
        // A server that has said its last word hangs up, after a FATAL for example.
        if (next == replies_.size()) return;
    }
}

void expect_nothing_is_required_of_reads(connection& on) {
    constexpr const char* requires_one = "SELECT 'no synchronous standby'";
    EXPECT_NO_THROW(on.execute(requires_one));
    EXPECT_NO_THROW(on.execute_script(requires_one));
    on.begin();
    on.execute(requires_one);
    EXPECT_NO_THROW(on.commit());
    EXPECT_EQ(on.state(), connection_state::idle);
}

}  // namespace leasehold::testing_postgres
