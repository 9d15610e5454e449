// Stands before one node of a cluster, as the network its clients come by, and fails when told to.
//
//   cluster_proxy serve FOLDER PORT      to a server on 127.0.0.1; prints its own port
//   cluster_proxy tell FOLDER WHAT       returns when it is so
//       cut        breaks the connections; new ones are closed at once
//       swallow    connections stay, and nothing comes through them; new ones the same
//       heal       ends either
//       delay MS   all that is sent arrives so much later
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "fault/relay.hpp"

namespace leasehold::testing {
namespace {

int local_socket() {
    const int made = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (made < 0) throw std::runtime_error("no socket");
    return made;
}

sockaddr_un address_in(const std::string& folder) {
    const std::string path = folder + "/proxy.socket";
    sockaddr_un made{};
    made.sun_family = AF_UNIX;
    if (path.size() >= sizeof made.sun_path) throw std::runtime_error("too long: " + path);
    std::memcpy(made.sun_path, path.data(), path.size());
    return made;
}

[[noreturn]] void fail(const char* what) {
    throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::string receive(int from) {
    char bytes[128];
    const auto count = ::recv(from, bytes, sizeof bytes, 0);
    return {bytes, count > 0 ? static_cast<std::size_t>(count) : 0};
}

bool obey(relay& network, const std::string& what) {
    if (what == "cut") {
        network.cut();
    } else if (what == "swallow") {
        network.swallow();
    } else if (what == "heal") {
        network.mend();
    } else if (what.starts_with("delay ")) {
        network.delay_by(std::chrono::milliseconds{std::stoi(what.substr(6))});
    } else {
        return false;
    }
    return true;
}

int serve(const std::string& folder, int port) {
    relay network{"127.0.0.1", port};
    const int listener = local_socket();
    const sockaddr_un here = address_in(folder);
    constexpr int backlog = 8;
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
        ::listen(listener, backlog) != 0) {
        fail("cannot listen");
    }
    std::printf("%d\n", network.port());
    std::fflush(stdout);
    for (;;) {
        const int asker = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (asker < 0) continue;
        const std::string answer = obey(network, receive(asker)) ? "done" : "no such verb";
        ::send(asker, answer.data(), answer.size(), MSG_NOSIGNAL);
        ::close(asker);
    }
}

int tell(const std::string& folder, const std::string& what) {
    const int asks = local_socket();
    const sockaddr_un there = address_in(folder);
    if (::connect(asks, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 ||
        ::send(asks, what.data(), what.size(), MSG_NOSIGNAL) < 0) {
        fail("cannot reach the proxy");
    }
    const std::string answer = receive(asks);
    if (answer != "done") throw std::runtime_error("the proxy answers: " + answer);
    return 0;
}

}  // namespace
}  // namespace leasehold::testing

int main(int count, char** arguments) {
    const std::string verb = count > 1 ? arguments[1] : "";
    try {
        if (verb == "serve" && count == 4) {
            return leasehold::testing::serve(arguments[2], std::stoi(arguments[3]));
        }
        if (verb == "tell" && (count == 4 || count == 5)) {
            const std::string rest = count == 5 ? std::string(" ") + arguments[4] : "";
            return leasehold::testing::tell(arguments[2], arguments[3] + rest);
        }
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "cluster_proxy: %s\n", failure.what());
        return 1;
    }
    std::fputs("usage: cluster_proxy serve FOLDER PORT, or tell FOLDER WHAT\n", stderr);
    return 64;
}
