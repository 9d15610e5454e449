#include "database/notifier.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/clock_source.hpp"
#include "core/number_in.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view local_scheme = "unix:", far_scheme = "udp:";
constexpr std::string_view name_prefix = "leasehold-";

struct socket_address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
    const sockaddr* generic() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
    sockaddr* generic() noexcept { return reinterpret_cast<sockaddr*>(&bytes); }
};

std::string words_of_errno() {
    return std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): of GNU, which is safe
}

// The boot of this machine and the network namespace of this thread; empty if they cannot be read.
// Two processes for which this is the same find each other's abstract sockets.
std::string place_of_this_thread() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string boot;
    std::getline(file, boot);
    std::erase(boot, '-');
    std::error_code failure;
    std::string network =
        std::filesystem::read_symlink("/proc/thread-self/ns/net", failure).string();
    std::erase_if(network, [](char each) { return each < '0' || each > '9'; });
    if (boot.empty() || network.empty()) return "";
    return boot + "." + network;
}

socket_address abstract_address(std::string_view name) {
    socket_address made;
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    const std::string full = std::string{name_prefix}.append(name);
    if (full.size() + 1 > sizeof local.sun_path) return made;
    std::copy(full.begin(), full.end(), local.sun_path + 1);  // a NUL comes first
    std::memcpy(&made.bytes, &local, sizeof local);
    made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
    return made;
}

// HOST and PORT, the port 0 if there is none.
std::optional<std::pair<std::string, std::uint16_t>> host_and_port(std::string_view given) {
    std::string_view host = given, port;
    if (given.starts_with('[')) {
        const auto end = given.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        host = given.substr(1, end - 1);
        port = given.substr(end + 1);
        if (!port.empty() && !port.starts_with(':')) return std::nullopt;
    } else if (std::ranges::count(given, ':') == 1) {
        host = given.substr(0, given.find(':'));
        port = given.substr(given.find(':'));
    }
    if (port.empty()) return std::pair{std::string{host}, std::uint16_t{0}};
    const auto number = number_in<std::uint16_t>(port.substr(1));
    if (!number || *number == 0) return std::nullopt;
    return std::pair{std::string{host}, *number};
}

// Size 0 if `given` is no numeric address. A host name is refused: a datagram must not wait for a
// name server.
socket_address internet_address(std::string_view given) {
    socket_address made;
    const auto parts = host_and_port(given);
    if (!parts) return made;
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (inet_pton(AF_INET, parts->first.c_str(), &four.sin_addr) == 1) {
        if (four.sin_addr.s_addr == htonl(INADDR_ANY)) return made;
        four.sin_family = AF_INET;
        four.sin_port = htons(parts->second);
        std::memcpy(&made.bytes, &four, made.size = sizeof four);
    } else if (inet_pton(AF_INET6, parts->first.c_str(), &six.sin6_addr) == 1) {
        if (IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr)) return made;
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(parts->second);
        std::memcpy(&made.bytes, &six, made.size = sizeof six);
    }
    return made;
}

// The text that internet_address() reads.
std::string text_of(const socket_address& what) {
    std::array<char, INET6_ADDRSTRLEN> host{};
    if (what.bytes.ss_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, &what.bytes, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, host.data(), host.size());
        return std::string{host.data()} + ":" + std::to_string(ntohs(four.sin_port));
    }
    sockaddr_in6 six{};
    std::memcpy(&six, &what.bytes, sizeof six);
    inet_ntop(AF_INET6, &six.sin6_addr, host.data(), host.size());
    return "[" + std::string{host.data()} + "]:" + std::to_string(ntohs(six.sin6_port));
}

std::optional<notifier::heard> heard_in(const std::string& payload) {
    try {
        if (payload.empty()) return notifier::heard{};
        return notifier::heard{owner_id::from_text(payload)};
    } catch (const error&) {
        return std::nullopt;  // a stranger has sent it
    }
}

// Takes everything that has come: unread notifications stay in the server's queue. A connection
// that fails behind some of them fails again at the next call.
void take_notifications(connection& from, milliseconds timeout, std::vector<notifier::heard>& all) {
    try {
        for (auto next = from.wait_for_notification(timeout); next;
             next = from.wait_for_notification(milliseconds{0})) {
            if (const auto one = heard_in(next->payload)) all.push_back(*one);
        }
    } catch (const error&) {
        if (all.empty()) throw;
    }
}

owned_descriptor datagram_socket(int family) {
    return owned_descriptor{::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

bool is_sent(const owned_descriptor& from, const socket_address& to, const std::string& bytes) {
    const auto size = bytes.size();
    return ::sendto(from.number(), bytes.data(), size, MSG_NOSIGNAL, to.generic(), to.size) >= 0;
}

// The address after the scheme, among the addresses of a row; empty if there is none of it.
std::string_view address_of(std::string_view all, std::string_view scheme) {
    while (!all.empty()) {
        const std::string_view one = all.substr(0, all.find(' '));
        if (one.starts_with(scheme)) return one.substr(scheme.size());
        all.remove_prefix(std::min(all.size(), one.size() + 1));
    }
    return {};
}

}  // namespace

owned_descriptor::~owned_descriptor() {
    if (number_ >= 0) ::close(number_);
}

owned_descriptor::owned_descriptor(owned_descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}

owned_descriptor& owned_descriptor::operator=(owned_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

void require_wakeup_address(const std::string& given) {
    if (given.empty() || internet_address(given).size != 0) return;
    throw error(
        errc::invalid_argument,
        "the address for wake-ups is '" + given +
            "'; it must be a number by which other machines reach this one, with a port or "
            "without: 192.0.2.7, 192.0.2.7:7400, 2001:db8::7 or [2001:db8::7]:7400"
    );
}

std::string host_of_wakeup_address(const std::string& given) {
    const auto parts = host_and_port(given);
    return parts ? parts->first : given;
}

std::string notifier::address(std::string& complaint) {
    // A test that moves the time cannot move that of a socket.
    if (clock_source::installed()) return "";
    const thread_guard guard{mutex_};
    if (opened_by_ == 0) {
        opened_by_ = ::getpid();
        open(complaint);
    }
    return opened_by_ == ::getpid() ? address_ : "";
}

void notifier::open(std::string& complaint) {
    awake_ = owned_descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!awake_.is_open()) {
        complaint = "eventfd: " + words_of_errno();
        return;
    }
    open_local(complaint);
    if (!wakeup_address_.empty()) open_far(complaint);
}

void notifier::open_local(std::string& complaint) {
    const std::string place = place_of_this_thread();
    if (place.empty()) {
        complaint = "/proc does not tell the boot and the network of this process";
        return;
    }
    const std::string name = identity::random().text();
    const socket_address at = abstract_address(name);
    owned_descriptor made = datagram_socket(AF_UNIX);
    if (!made.is_open() || ::bind(made.number(), at.generic(), at.size) != 0) {
        complaint = "a Unix socket: " + words_of_errno();
        return;
    }
    local_ = std::move(made);
    address_ = std::string{local_scheme}.append(place).append(":").append(name);
}

void notifier::open_far(std::string& complaint) {
    socket_address at = internet_address(wakeup_address_);
    owned_descriptor made = datagram_socket(at.bytes.ss_family);
    if (!made.is_open() || ::bind(made.number(), at.generic(), at.size) != 0 ||
        ::getsockname(made.number(), at.generic(), &at.size) != 0) {
        complaint = "the address for wake-ups " + wakeup_address_ + ": " + words_of_errno();
        return;
    }
    far_ = std::move(made);
    if (!address_.empty()) address_ += ' ';
    address_.append(far_scheme).append(text_of(at));
}

// Takes the notifications that have come before it waits: one that was read together with an answer
// makes no descriptor readable.
std::vector<notifier::heard> notifier::hear(connection* from, local_clock::time_point until) {
    // The longest wait for a notification that nobody can interrupt: its thread may have to end.
    constexpr milliseconds listening_slice{100};
    std::vector<heard> all;
    const auto take_datagrams = [&] {
        for (const owner_id& each : received()) all.push_back({each, true});
    };
    if (from) take_notifications(*from, milliseconds{0}, all);
    take_datagrams();
    const auto left = std::chrono::ceil<milliseconds>(until - local_clock::now());
    if (!all.empty() || left <= milliseconds{0}) return all;
    const int descriptor = from ? from->notification_descriptor() : -1;
    if (is_open() && (!from || descriptor >= 0)) {
        listen_until(until, descriptor);
    } else if (from) {
        take_notifications(*from, std::min(left, listening_slice), all);
    }
    take_datagrams();
    return all;
}

void notifier::listen_until(local_clock::time_point until, int other) noexcept {
    std::array<pollfd, 4> all{{
        {awake_.number(), POLLIN, 0},
        {local_.number(), POLLIN, 0},
        {far_.number(), POLLIN, 0},
        {other, POLLIN, 0},
    }};
    for (;;) {
        // A machine that slept has lost no time by its own clock, and has by ours.
        constexpr milliseconds max_slice{1000};
        const auto left = std::chrono::ceil<milliseconds>(until - local_clock::now());
        if (left <= milliseconds{0}) return;
        const int found =
            ::poll(all.data(), all.size(), static_cast<int>(std::min(left, max_slice).count()));
        if (found == 0 || (found < 0 && errno == EINTR)) continue;
        if (all[0].revents != 0) {
            std::uint64_t count = 0;
            [[maybe_unused]] const auto size = ::read(awake_.number(), &count, sizeof count);
        }
        return;
    }
}

void notifier::wake() noexcept {
    const std::uint64_t one = 1;
    if (awake_.is_open()) {
        [[maybe_unused]] const auto size = ::write(awake_.number(), &one, sizeof one);
    }
}

std::vector<owner_id> notifier::received() {
    constexpr int max_datagrams = 64;
    std::vector<owner_id> all;
    for (const owned_descriptor* each : {&local_, &far_}) {
        if (!each->is_open()) continue;
        for (int read = 0; read < max_datagrams; ++read) {
            std::array<char, identity::size_bytes + 1> bytes{};
            const auto size = ::recv(each->number(), bytes.data(), bytes.size(), 0);
            if (size < 0) break;
            if (size != identity::size_bytes) continue;
            all.push_back(owner_id::from_bytes({bytes.data(), owner_id::size_bytes}));
        }
    }
    return all;
}

bool notifier::send(std::string_view address, const owner_id& whom) noexcept {
    try {
        if (send_here(address_of(address, local_scheme), whom)) return true;
        return !wakeup_address_.empty() && send_far(address_of(address, far_scheme), whom);
    } catch (const std::exception&) {
        return false;
    }
}

bool notifier::send_here(std::string_view place_and_name, const owner_id& whom) {
    const auto colon = place_and_name.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string bytes = whom.bytes();
    const socket_address at = abstract_address(place_and_name.substr(colon + 1));
    const thread_guard guard{mutex_};
    if (!sending_.is_open() && can_send_here_) {
        sends_in_ = place_of_this_thread();
        if (!sends_in_.empty()) sending_ = datagram_socket(AF_UNIX);
        can_send_here_ = sending_.is_open();
    }
    if (!can_send_here_ || at.size == 0 || place_and_name.substr(0, colon) != sends_in_) {
        return false;
    }
    if (is_sent(sending_, at, bytes)) return true;
    // Datagrams that stopped processes have not read fill the room of this socket.
    if (errno != EAGAIN) return false;
    if (owned_descriptor fresh = datagram_socket(AF_UNIX); fresh.is_open()) {
        sending_ = std::move(fresh);
    }
    return is_sent(sending_, at, bytes);
}

// True says that the datagram was sent, not that it arrives. The socket is bound to no address, so
// that the system picks the network by the destination.
bool notifier::send_far(std::string_view host_and_port, const owner_id& whom) {
    const socket_address at = internet_address(host_and_port);
    if (at.size == 0) return false;
    const owned_descriptor from = datagram_socket(at.bytes.ss_family);
    return from.is_open() && is_sent(from, at, whom.bytes());
}

}  // namespace leasehold
