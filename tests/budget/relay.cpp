#include "budget/relay.hpp"
#include "leasehold/quorum_lock.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace leasehold::testing {
namespace {

constexpr int slice_ms = 20;  // how soon it heeds a request to stop

sockaddr_in local(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

class owned_socket {
public:
    explicit owned_socket(int handle) : handle_(handle) {}
    owned_socket(const owned_socket&) = delete;
    owned_socket& operator=(const owned_socket&) = delete;
    ~owned_socket() { close(handle_); }
    int get() const noexcept { return handle_; }

private:
    int handle_;
};

// Passes on the bytes that have come; false at the end of either side.
bool pass_on(int from, int to) {
    std::array<char, 65536> bytes;
    const auto count = recv(from, bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    for (ssize_t done = 0; done < count;) {
        const auto left = static_cast<std::size_t>(count - done);
        const auto sent = send(to, bytes.data() + done, left, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        done += sent;
    }
    return true;
}

}  // namespace

relay::relay(int server_port)
    : server_port_(server_port), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here = local(0);
    socklen_t size = sizeof here;
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    if (bind(listener_, address, size) != 0 || listen(listener_, 64) != 0 ||
        getsockname(listener_, address, &size) != 0) {
        throw std::runtime_error("the relay could not listen");
    }
    port_ = ntohs(here.sin_port);
    acceptor_ = std::jthread{[this](std::stop_token stop) { accept_all(stop); }};
}

relay::~relay() {
    acceptor_.request_stop();
    acceptor_.join();
    carriers_.clear();
    close(listener_);
}

void relay::accept_all(std::stop_token stop) {
    while (!stop.stop_requested()) {
        pollfd watched{listener_, POLLIN, 0};
        if (poll(&watched, 1, slice_ms) <= 0) continue;
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) continue;
        const std::lock_guard guard{mutex_};
        carriers_.emplace_back([this, client](std::stop_token each) { carry(each, client); });
    }
}

void relay::carry(std::stop_token stop, int accepted) {
    const owned_socket client{accepted};
    const owned_socket server{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const sockaddr_in there = local(server_port_);
    if (connect(server.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) return;
    for (const int each : {client.get(), server.get()}) {
        const int yes = 1;
        setsockopt(each, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    bool client_spoke_last = false;
    while (!stop.stop_requested()) {
        pollfd watched[] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
        if (poll(watched, 2, slice_ms) <= 0) continue;
        if (watched[0].revents != 0) {
            if (!client_spoke_last) {
                ++waiting_;
                ++round_trips_;
            }
            client_spoke_last = true;
            if (!pass_on(client.get(), server.get())) break;
        }
        if (watched[1].revents != 0) {
            // Before the answer is passed on: the client that has it may look at these at once.
            if (client_spoke_last) --waiting_;
            client_spoke_last = false;
            if (!pass_on(server.get(), client.get())) break;
        }
    }
    if (client_spoke_last) --waiting_;
}

}  // namespace leasehold::testing
