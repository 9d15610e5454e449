// The notifier: who can send to it, who cannot, what it hears, and its answer to strangers.
#include "database/notifier.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

#include "leasehold/error.hpp"
#include "leasehold/fence_file.hpp"
#include "support/test_time.hpp"
#include "support/thread.hpp"
#include "unit/idle_connection.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// The address of a socket, or the reason why it has none.
struct place {
    explicit place(notifier& of) : address(of.address(complaint)) {}
    std::string complaint;
    std::string address;
};

void send_raw(const std::string& address, const std::string& bytes) {
    const std::string name = "leasehold-" + address.substr(address.rfind(':') + 1);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), to.sun_path + 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const owned_descriptor from{::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    ::sendto(
        from.number(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), size
    );
}

bool hears(notifier& socket, const owner_id& whom) {
    const auto until = local_clock::now() + 10s;
    while (local_clock::now() < until) {
        socket.listen_until(until, -1);
        for (const owner_id& each : socket.received()) {
            if (each == whom) return true;
        }
    }
    return false;
}

TEST(notifier_test, a_process_that_knows_the_address_wakes_one_waiter) {
    notifier socket{""}, other{""};
    const place at{socket};
    EXPECT_EQ(at.complaint, "");
    EXPECT_TRUE(at.address.starts_with("unix:")) << at.address;
    EXPECT_EQ(place{socket}.address, at.address) << "it is opened once";
    EXPECT_NE(place{other}.address, at.address);
    EXPECT_LT(at.address.size(), 200U) << "the column has 255 bytes";
    const owner_id whom = owner_id::random();
    EXPECT_TRUE(other.send(at.address, whom));
    EXPECT_TRUE(hears(socket, whom));
    EXPECT_TRUE(other.received().empty());
}

TEST(notifier_test, between_machines_both_have_an_address_of_their_own) {
    for (const std::string host : {"127.0.0.1", "::1", "[::1]"}) {
        notifier socket{host}, other{host}, without{""};
        const place at{socket};
        ASSERT_EQ(at.complaint, "") << host;
        const auto far = at.address.find(" udp:");
        ASSERT_NE(far, std::string::npos) << at.address;
        const std::string udp = at.address.substr(far + 1);
        const owner_id whom = owner_id::random();
        EXPECT_FALSE(without.send(udp, whom)) << "nobody sends packets who was not told to";
        EXPECT_TRUE(other.send(udp, whom));
        EXPECT_TRUE(hears(socket, whom)) << host;
    }
}

TEST(notifier_test, an_address_is_a_number_that_others_can_send_to) {
    for (const char* good : {"", "192.0.2.7", "192.0.2.7:7400", "2001:db8::7", "[2001:db8::7]:1"}) {
        EXPECT_NO_THROW(require_wakeup_address(good)) << good;
    }
    for (const char* bad :
         {"db.example",
          "0.0.0.0",
          "::",
          "192.0.2.7:",
          "192.0.2.7:0",
          "192.0.2.7:70000",
          "[2001:db8::7",
          "[2001:db8::7]7400",
          "192.0.2.7:74x",
          "192.0.2",
          " 192.0.2.7"}) {
        EXPECT_THROW(require_wakeup_address(bad), error) << bad;
    }
}

TEST(notifier_test, what_cannot_have_been_heard_is_said_to_be_so) {
    notifier other{"127.0.0.1"};
    const owner_id whom = owner_id::random();
    std::string gone;
    {
        notifier socket{""};
        gone = place{socket}.address;
    }
    EXPECT_FALSE(other.send(gone, whom)) << "its process has ended";
    notifier socket{""};
    const std::string near = place{socket}.address;
    std::string elsewhere = near;
    elsewhere.insert(elsewhere.rfind(':'), "1");  // another network of this machine
    EXPECT_FALSE(other.send(elsewhere, whom));
    elsewhere = near;
    elsewhere.at(5) = elsewhere.at(5) == 'f' ? '0' : 'f';  // another machine
    EXPECT_FALSE(other.send(elsewhere, whom));
    for (const std::string& nonsense :
         {std::string{},
          std::string{"unix:"},
          std::string{"unix::"},
          std::string{"udp:x"},
          std::string{" "},
          "tcp:" + near,
          near + std::string(300, 'x'),
          std::string{"udp:[::]:1"},
          "unix:" + std::string(300, ':')}) {
        EXPECT_FALSE(other.send(nonsense, whom)) << nonsense;
    }
    EXPECT_TRUE(socket.received().empty());
}

// More than a queue holds: a datagram that does not fit is refused, so that the database notifies
// instead.
TEST(notifier_test, a_flood_is_taken_in_parts_and_what_is_no_owner_id_is_dropped) {
    notifier socket{""}, other{""};
    const std::string at = place{socket}.address;
    for (const std::string& wrong :
         {std::string{},
          std::string{"x"},
          std::string(15, 'x'),
          std::string(17, 'x'),
          std::string(60'000, 'x')}) {
        send_raw(at, wrong);
    }
    EXPECT_TRUE(socket.received().empty());
    const owner_id whom = owner_id::random();
    int sent = 0;
    while (sent < 100'000 && other.send(at, whom)) ++sent;
    EXPECT_LT(sent, 100'000) << "nobody waits until it is read";
    int read = 0;
    for (auto part = socket.received(); !part.empty(); part = socket.received()) {
        EXPECT_LE(part.size(), 64U);
        read += static_cast<int>(part.size());
    }
    EXPECT_EQ(read, sent);
    EXPECT_TRUE(other.send(at, whom));
}

TEST(notifier_test, whoever_listens_can_be_woken_and_goes_when_it_is_time) {
    notifier socket{""};
    static_cast<void>(place{socket});
    socket.listen_until(local_clock::now() + 1ms, -1);
    socket.wake();
    const auto began = local_clock::now();
    socket.listen_until(began + 1h, -1);
    EXPECT_LT(local_clock::now() - began, 10s);
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const owned_descriptor reading{ends[0]}, writing{ends[1]};
    ASSERT_EQ(::write(writing.number(), "x", 1), 1);
    socket.listen_until(began + 1h, reading.number());
    EXPECT_LT(local_clock::now() - began, 10s);
}

// A connection that listens: what it is to hear next, and how it was waited for.
class listening_connection final : public idle_connection {
public:
    using idle_connection::idle_connection;
    std::optional<notification> wait_for_notification(milliseconds timeout) override {
        if (is_lost) throw error(errc::connection_lost, "the server went away");
        if (!payloads.empty()) {
            notification next{"channel", payloads.front()};
            payloads.pop_front();
            return next;
        }
        if (timeout > 0ms) waited.push_back(timeout);
        if (timeout > 0ms && test_time::is_moved_here()) test_time::advance(timeout);
        return std::nullopt;
    }
    int notification_descriptor() const noexcept override { return descriptor; }

    std::deque<std::string> payloads;
    std::vector<milliseconds> waited;
    int descriptor = -1;
    bool is_lost = false;
};

TEST(notifier_test, it_hears_whom_the_database_names_and_ignores_what_strangers_send) {
    const test_time time;
    notifier hears{""};
    EXPECT_EQ(place{hears}.address, "") << "a socket's time cannot be moved";
    record of;
    listening_connection from{of};
    const owner_id whom = owner_id::random(), other = owner_id::random();
    from.payloads = {whom.text(), "hello", std::string(32, 'x'), "", other.text()};
    const auto all = hears.hear(&from, local_clock::now() + 1h);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].whom, whom);
    EXPECT_EQ(all[1].whom, std::nullopt) << "anybody's turn";
    EXPECT_EQ(all[2].whom, other);
    for (const notifier::heard& each : all) EXPECT_FALSE(each.is_datagram);
    EXPECT_TRUE(from.waited.empty());
}

TEST(notifier_test, where_nothing_can_be_polled_it_waits_in_short_slices_until_its_time) {
    const test_time time;
    notifier hears{""};
    record of;
    listening_connection from{of};
    const auto until = local_clock::now() + 350ms;
    while (local_clock::now() < until) EXPECT_TRUE(hears.hear(&from, until).empty());
    EXPECT_TRUE(hears.hear(&from, until).empty()) << "it is time: it waits no more";
    ASSERT_GE(from.waited.size(), 4U);
    for (const milliseconds each : from.waited) EXPECT_LE(each, 100ms);
    from.is_lost = true;
    EXPECT_THROW(hears.hear(&from, until), error);
    EXPECT_TRUE(hears.hear(nullptr, until + 1h).empty()) << "it has nothing to wait for";
}

TEST(notifier_test, it_hears_datagrams_and_the_database_at_once) {
    notifier hears{""}, other{""};
    const std::string at = place{hears}.address;
    record of;
    listening_connection from{of};
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const owned_descriptor reading{ends[0]}, writing{ends[1]};
    from.descriptor = reading.number();
    const owner_id first = owner_id::random(), second = owner_id::random();
    from.payloads = {first.text()};
    ASSERT_TRUE(other.send(at, second));
    const auto began = local_clock::now();
    const auto both = hears.hear(&from, began + 1h);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].whom, first);
    EXPECT_FALSE(both[0].is_datagram);
    EXPECT_EQ(both[1].whom, second);
    EXPECT_TRUE(both[1].is_datagram);
    ASSERT_EQ(::write(writing.number(), "x", 1), 1);
    EXPECT_TRUE(hears.hear(&from, began + 1h).empty()) << "the next call takes it";
    hears.wake();
    EXPECT_TRUE(hears.hear(nullptr, began + 1h).empty());
    EXPECT_LT(local_clock::now() - began, 10s);
    EXPECT_TRUE(from.waited.empty());
}

TEST(notifier_test, the_child_of_a_fork_has_no_address_and_hears_nothing) {
    notifier socket{""}, other{""};
    const std::string at = place{socket}.address;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::string complaint;
        ::_exit(socket.address(complaint).empty() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    const owner_id whom = owner_id::random();
    EXPECT_TRUE(other.send(at, whom));
    EXPECT_TRUE(hears(socket, whom)) << "the parent's is what it was";
}

TEST(notifier_test, without_sockets_there_is_no_address_and_it_says_so_once) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    notifier socket{""}, other{""};
    const std::string at = place{other}.address;
    // A sanitizer examines the first stream of the library that cannot be opened, and needs
    // descriptors for that. Without this line, another test has to come first.
    ASSERT_EQ(fence_file{"/proc/no-such-file"}.highest(), std::nullopt);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const place nowhere{socket};
    const bool could_send = socket.send(at, owner_id::random());
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(nowhere.address, "");
    EXPECT_NE(nowhere.complaint, "");
    EXPECT_FALSE(could_send);
    const place later{socket};
    EXPECT_EQ(later.address + later.complaint, "");
    socket.wake();
    EXPECT_TRUE(socket.received().empty());
}

// A thread has namespaces of its own where it may make some: as two containers of one machine.
TEST(notifier_test, neither_another_network_nor_a_process_without_proc_is_reached) {
    notifier socket{""}, other{""}, blind{""};
    const std::string at = place{socket}.address;
    bool may = true, was_sent = true;
    std::string in_there, without_proc = "x", complaint;
    thread{[&] {
        may = ::unshare(CLONE_NEWNET) == 0;
        if (!may) return;
        was_sent = other.send(at, owner_id::random());
        in_there = place{other}.address;
        may = ::unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
              ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
        if (!may) return;
        const place found{blind};
        without_proc = found.address;
        complaint = found.complaint;
    }}.join();
    if (!may) GTEST_SKIP() << "this user may make no namespaces";
    EXPECT_FALSE(was_sent);
    EXPECT_NE(in_there.substr(0, in_there.rfind(':')), at.substr(0, at.rfind(':')));
    EXPECT_EQ(without_proc, "");
    EXPECT_NE(complaint.find("/proc"), std::string::npos);
}

}  // namespace
}  // namespace leasehold::testing
