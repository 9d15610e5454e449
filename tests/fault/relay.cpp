#include "fault/relay.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace leasehold::testing {
namespace {

constexpr int slice_ms = 5;  // how soon a command is heeded

sockaddr_in address_of(const std::string& host, int port) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<std::uint16_t>(port));
    const std::string address = host == "localhost" ? "127.0.0.1" : host;
    if (::inet_pton(AF_INET, address.c_str(), &there.sin_addr) != 1)
        throw std::runtime_error("the test server's host is not an address: " + host);
    return there;
}

struct place {
    std::size_t begin = 0;
    std::size_t colon = 0;
    std::size_t end = 0;
};

place place_in(const std::string& url) {
    place found;
    found.begin = url.rfind('@', url.find('/', url.find("://") + 3)) + 1;
    found.end = url.find('/', found.begin);
    found.colon = url.rfind(':', found.end);
    return found;
}

}  // namespace

std::string host_of(const std::string& url) {
    const place at = place_in(url);
    return url.substr(at.begin, at.colon - at.begin);
}
int port_of(const std::string& url) {
    const place at = place_in(url);
    return std::stoi(url.substr(at.colon + 1, at.end - at.colon - 1));
}

relay::relay(std::string host, int port) : host_(std::move(host)), server_port_(port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here = address_of("127.0.0.1", 0);
    auto* const generic = reinterpret_cast<sockaddr*>(&here);
    socklen_t size = sizeof here;
    constexpr int backlog = 64;
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, backlog) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
        throw std::runtime_error(std::string("no port for a relay: ") + std::strerror(errno));
    }
    port_ = ntohs(here.sin_port);
    thread_ = std::thread{[this] { serve(); }};
}

relay::~relay() {
    ends_ = true;
    thread_.join();
    for (pair& each : pairs_) close_pair(each);
    ::close(listener_);
}

void relay::ask(request what) {
    asked_ = what;
    while (asked_ != request::none) ::poll(nullptr, 0, 1);
}
void relay::strand() {
    ask(request::strand);
}
void relay::cut() {
    cuts_new_ = true;
    ask(request::cut);
}
void relay::swallow() {
    swallows_new_ = true;
    swallow_old();
}
void relay::swallow_old() {
    ask(request::swallow);
}
void relay::mend() {
    cuts_new_ = false;
    swallows_new_ = false;
    ask(request::mend);
}

void relay::accept_one() {
    pair made;
    made.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (made.client < 0) return;
    ++accepted_;
    if (cuts_new_) {
        close_pair(made);
        return;
    }
    if (swallows_new_) {
        made.is_swallowed = true;
        pairs_.push_back(made);
        return;
    }
    made.server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in there = address_of(host_, server_port_);
    if (::connect(made.server, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
        close_pair(made);
        return;
    }
    if (cuts_handshakes_) {
        cut_handshake(made);
        close_pair(made);
        return;
    }
    for (const int each : {made.client, made.server}) {
        const int yes = 1;
        ::setsockopt(each, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    pairs_.push_back(made);
}

// A greeting: four bytes of frame, the protocol's number, the version's text with a zero behind,
// four bytes, eight of scramble, a zero, and the lower half of the capabilities, of which
// CLIENT_SSL is 0x800.
void relay::cut_handshake(const pair& which) {
    std::array<char, 1024> bytes;
    const auto count = ::recv(which.server, bytes.data(), bytes.size(), 0);
    if (count < 5) return;
    const auto version_end = std::find(bytes.begin() + 5, bytes.begin() + count, '\0');
    constexpr std::ptrdiff_t to_high_byte = 1 + 4 + 8 + 1 + 1;
    if (bytes.begin() + count - version_end <= to_high_byte) return;
    *(version_end + to_high_byte) |= 0x08;
    ::send(which.client, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
    constexpr int timeout_ms = 2000;
    pollfd asked{which.client, POLLIN, 0};
    if (::poll(&asked, 1, timeout_ms) == 1) {
        static_cast<void>(::recv(which.client, bytes.data(), bytes.size(), 0));
        ++handshakes_cut_;
    }
}

// False where nobody takes it any more.
bool relay::send_all(int to, std::string_view bytes) {
    while (to >= 0 && !bytes.empty()) {
        const auto part = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (part <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(part));
    }
    return true;
}

// Sends what there is room for: a connection that is full must not keep the others waiting. False
// where nobody takes it any more.
bool relay::flush(int to, std::string& unsent) {
    if (to < 0 || unsent.empty()) {
        unsent.clear();
        return true;
    }
    const auto part = ::send(to, unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (part < 0) return errno == EAGAIN;
    unsent.erase(0, static_cast<std::size_t>(part));
    return true;
}

// False at the end of the stream.
bool relay::forward(int from, int to, std::string& unsent) {
    std::array<char, 65536> bytes;
    const auto count = ::recv(from, bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    unsent.assign(bytes.data(), static_cast<std::size_t>(count));
    return flush(to, unsent);
}

// The same later, and after all that was put off before it.
void relay::put_off(pair& which, bool is_for_server) {
    std::array<char, 65536> bytes;
    const int from = is_for_server ? which.client : which.server;
    const auto count = ::recv(from, bytes.data(), bytes.size(), 0);
    which.has_ended = which.has_ended || count <= 0;
    which.delayed.push_back(
        {clock::now() + delay_.load(),
         is_for_server,
         std::string(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0)}
    );
}

// False at the end.
bool relay::deliver_due(pair& which) {
    while (!which.delayed.empty() && which.delayed.front().due <= clock::now()) {
        const parcel next = std::move(which.delayed.front());
        which.delayed.pop_front();
        if (next.bytes.empty()) return false;
        if (!send_all(next.is_for_server ? which.server : which.client, next.bytes)) return false;
    }
    return true;
}

void relay::close_pair(pair& which) {
    if (which.client >= 0) ::close(which.client);
    if (which.server >= 0) ::close(which.server);
    which = {};
}

void relay::obey() {
    for (pair& each : pairs_) {
        switch (asked_) {
            case request::none:
                return;
            case request::strand:
                if (each.client >= 0) ::close(each.client);
                each.client = -1;
                break;
            case request::cut:
                close_pair(each);
                break;
            case request::swallow:
                each.is_swallowed = true;
                each.delayed.clear();
                each.unsent_to_client.clear();
                each.unsent_to_server.clear();
                break;
            case request::mend:
                if (each.is_swallowed) close_pair(each);
                break;
        }
    }
    asked_ = request::none;
}

// The end of a stream is swallowed, too: the other side is not told.
void relay::swallow_from(int& speaker) {
    std::array<char, 65536> bytes;
    const auto count = ::recv(speaker, bytes.data(), bytes.size(), 0);
    if (count > 0) {
        bytes_swallowed_ += count;
        return;
    }
    ::close(speaker);
    speaker = -1;
}

// False at the end.
bool relay::pass(pair& which, bool client_speaks, bool server_speaks) {
    if (which.is_swallowed) {
        if (client_speaks) swallow_from(which.client);
        if (server_speaks) swallow_from(which.server);
        return which.client >= 0 || which.server >= 0;
    }
    if (!flush(which.client, which.unsent_to_client)) return false;
    if (!flush(which.server, which.unsent_to_server)) return false;
    client_speaks = client_speaks && which.unsent_to_server.empty();
    server_speaks = server_speaks && which.unsent_to_client.empty();
    if (delay_.load().count() > 0 || !which.delayed.empty()) {
        if (client_speaks && !which.has_ended) put_off(which, true);
        if (server_speaks && !which.has_ended) put_off(which, false);
        return deliver_due(which);
    }
    return (!client_speaks || forward(which.client, which.server, which.unsent_to_server)) &&
           (!server_speaks || forward(which.server, which.client, which.unsent_to_client));
}

int relay::wait_ms() const {
    clock::duration least = std::chrono::milliseconds{slice_ms};
    for (const pair& each : pairs_) {
        if (!each.delayed.empty()) {
            least = std::min(least, each.delayed.front().due - clock::now());
        }
    }
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(least).count();
    return static_cast<int>(std::max<std::int64_t>(whole, 0));
}

void relay::serve() {
    while (!ends_) {
        obey();
        std::vector<pollfd> watched{{listener_, POLLIN, 0}};
        for (const pair& each : pairs_) {
            const auto watch = [&](int side, bool is_read, bool is_due) {
                const int events = (is_read ? POLLIN : 0) | (is_due ? POLLOUT : 0);
                // poll passes over negative numbers
                const bool is_passed_over = each.has_ended || events == 0;
                watched.push_back({is_passed_over ? -1 : side, static_cast<short>(events), 0});
            };
            const bool client_is_full = !each.unsent_to_client.empty();
            const bool server_is_full = !each.unsent_to_server.empty();
            watch(each.client, !server_is_full, client_is_full);
            watch(each.server, !client_is_full, server_is_full);
        }
        if (::poll(watched.data(), watched.size(), wait_ms()) < 0) continue;
        const std::size_t count = pairs_.size();
        for (std::size_t at = 0; at < count; ++at) {
            const bool client_speaks = (watched[1 + 2 * at].revents & ~POLLOUT) != 0;
            const bool server_speaks = (watched[2 + 2 * at].revents & ~POLLOUT) != 0;
            if (!pass(pairs_[at], client_speaks, server_speaks)) close_pair(pairs_[at]);
        }
        if (watched[0].revents != 0) accept_one();
        std::erase_if(pairs_, [](const pair& each) { return each.client < 0 && each.server < 0; });
    }
}

}  // namespace leasehold::testing
