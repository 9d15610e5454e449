// `leasehold agent`: locks, elections and runs for programs in any language, on a local socket.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "cli/agent/agent_client.hpp"
#include "cli/agent/session_source.hpp"
#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/errand.hpp"
#include "cli/run/events.hpp"

namespace leasehold::cli {
namespace {

// Each client has a thread, and a descriptor; some are left for connections to the database.
std::size_t max_clients() {
    constexpr rlim_t most = 1000, for_the_rest = 64;
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return most;
    descriptors.rlim_cur = descriptors.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return most;
    const rlim_t some = std::max(descriptors.rlim_cur, for_the_rest + 1) - for_the_rest;
    return std::min(some, most);
}

struct agent_options {
    std::string socket;
    std::string ttl = "30s";
};

failure listen_failure(const std::string& path, const std::string& why) {
    return failure{
        exit_status::failed, "listen_failed", "cannot listen on " + printable(path) + ": " + why};
}

std::string words_of(int number) {
    return std::generic_category().message(number);
}

// The socket in the file system. A file beside it, PATH.lock, says that an agent has it: a socket
// that a killed agent has left behind is replaced.
class local_socket {
public:
    explicit local_socket(std::string path) : path_(std::move(path)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path_.size() >= sizeof address.sun_path) {
            throw usage_failure("--socket: the path has 107 bytes at most");
        }
        path_.copy(static_cast<char*>(address.sun_path), path_.size());
        lock();
        remove_old(address);
        socket_ = descriptor{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        const mode_t mask_before = umask(0177);
        const int bound =
            ::bind(socket(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
        const int why = errno;
        umask(mask_before);
        if (bound != 0) throw listen_failure(path_, words_of(why));
        if (::listen(socket(), SOMAXCONN) != 0) throw listen_failure(path_, words_of(errno));
    }
    ~local_socket() {
        if (socket() >= 0) ::unlink(path_.c_str());
    }
    local_socket(const local_socket&) = delete;
    local_socket& operator=(const local_socket&) = delete;

    int socket() const noexcept { return socket_.number(); }

private:
    void lock() {
        const std::string beside = path_ + ".lock";
        lock_ = descriptor{::open(beside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
        if (lock_.number() < 0) throw listen_failure(path_, words_of(errno) + " for its .lock");
        if (::flock(lock_.number(), LOCK_EX | LOCK_NB) == 0) return;
        throw listen_failure(path_, "an agent listens there already");
    }
    // Leaves alone a socket at which another program listens.
    void remove_old(const sockaddr_un& address) const {
        struct stat found {};
        if (::lstat(path_.c_str(), &found) != 0) return;
        if (!S_ISSOCK(found.st_mode)) throw listen_failure(path_, "there is another file");
        const descriptor asks{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        const int reached =
            ::connect(asks.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
        if (reached == 0 || errno != ECONNREFUSED) {
            throw listen_failure(path_, "another program listens there");
        }
        ::unlink(path_.c_str());
    }

    const std::string path_;
    descriptor lock_;
    descriptor socket_;
};

// The kernel's word for who has connected. The file's mode keeps others out, too, but not where
// somebody has changed it.
bool may_use(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
}

class agent {
public:
    agent(const local_socket& listener, session_source& sessions, signal_inbox& signals)
        : listener_(listener), sessions_(sessions), signals_(signals) {}
    ~agent() {
        for (auto& each : clients_) each->client.hang_up("agent_ends");
        clients_.clear();  // all of them give back what they hold at once
    }
    agent(const agent&) = delete;
    agent& operator=(const agent&) = delete;

    // Returns when a signal asks for the end.
    void serve() {
        while (!signals_.is_asked_to_end()) {
            wait();
            hear_hang_ups();
            if (has_ended_.take()) {
                clients_.remove_if([](const auto& each) { return each->has_ended.load(); });
            }
            while (asked_[1].revents != 0 && accept_one()) {
            }
        }
    }

private:
    struct connected {
        connected(descriptor socket, session_source& sessions, event_flag& ended)
            : client(std::move(socket), sessions), thread([this, &ended] {
                  client.serve();
                  has_ended = true;
                  ended.set();
              }) {}
        agent_client client;
        bool is_hung_up = false;
        std::atomic<bool> has_ended = false;
        std::jthread thread;  // last: it uses the others
    };

    void wait() {
        asked_ = {
            {signals_.source(), POLLIN, 0},
            {listener_.socket(), POLLIN, 0},
            {has_ended_.source(), POLLIN, 0}};
        for (const auto& each : clients_) {
            asked_.push_back({each->is_hung_up ? -1 : each->client.socket(), POLLRDHUP, 0});
        }
        if (::poll(asked_.data(), asked_.size(), -1) >= 0) return;
        if (errno != EINTR) fail("poll");
        for (pollfd& each : asked_) each.revents = 0;
    }

    void hear_hang_ups() {
        auto answer = asked_.begin() + 3;
        for (auto& each : clients_) {
            const bool has_hung_up = (answer++)->revents != 0;
            if (!has_hung_up || std::exchange(each->is_hung_up, true)) continue;
            each->client.hang_up("");
        }
    }

    // False: there is nobody else, or no room.
    bool accept_one() {
        descriptor socket{::accept4(listener_.socket(), nullptr, nullptr, SOCK_CLOEXEC)};
        if (socket.number() < 0) {
            if (errno == ECONNABORTED || errno == EINTR) return true;
            if (errno != EAGAIN) wait_for_room();
            return false;
        }
        if (!may_use(socket.number())) return true;
        if (clients_.size() >= max_clients_) return refuse(socket.number());
        try {
            clients_.push_back(std::make_unique<connected>(std::move(socket), sessions_, has_ended_)
            );
        } catch (const std::system_error&) {
            wait_for_room();  // the system lets no thread begin
            return false;
        }
        return true;
    }
    static bool refuse(int socket) {
        constexpr std::string_view line =
            "{\"error\":\"too_many_connections\",\"message\":\"the agent has as many "
            "connections as it can have: close some\"}\n";
        static_cast<void>(::send(socket, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
        return true;
    }
    // Those that are connected come first.
    void wait_for_room() {
        wait_for({signals_.source(), has_ended_.source()}, std::chrono::milliseconds{100});
    }

    const local_socket& listener_;
    session_source& sessions_;
    signal_inbox& signals_;
    const std::size_t max_clients_ = max_clients();
    event_flag has_ended_;
    std::vector<pollfd> asked_;
    std::list<std::unique_ptr<connected>> clients_;
};

std::string path_of(const agent_options& chosen) {
    if (!chosen.socket.empty()) return chosen.socket;
    if (const auto folder = from_environment("XDG_RUNTIME_DIR")) return *folder + "/leasehold";
    throw usage_failure("say where the socket is to be: --socket PATH, as /run/leasehold/agent");
}

int run_agent(const agent_options& chosen, const global_options& options) {
    session_settings timing;
    timing.ttl = parse_duration(chosen.ttl, "--ttl");
    timing.name = "agent";
    const std::string path = path_of(chosen);
    signal_inbox signals;
    constexpr int connections = 8;  // requests at a time; those that wait have none
    session_source sessions{
        open_database(options, statement_timeout_for(timing), {}, "agent", connections), timing};
    const local_socket listener{path};
    print_result(options.is_json, {{"listening", path}}, "listening on " + printable(path));
    require_written();
    agent{listener, sessions, signals}.serve();
    return exit_status::done;
}

constexpr const char* agent_help =
    "One agent on a host keeps one session with the database for any number of programs, which\n"
    "connect to its socket and send lines of JSON:\n"
    "\n"
    "  {\"do\":\"lock\",\"key\":\"invoices/closing\",\"wait\":10}\n"
    "  {\"answer\":\"held\",\"hold\":1,\"token\":7,\"owner\":\"9f2c...\"}\n"
    "\n"
    "All that a program holds is given back when its connection ends, also if it was killed. When\n"
    "a hold is lost, the agent says so by a line of its own; prove each write by owner and token\n"
    "all the same. The lines, and clients for Python and Go:\n"
    "docs/locks-from-other-languages.md.\n"
    "\n"
    "Only the user that runs the agent, and root, can use the socket. Without --socket it is\n"
    "leasehold in the folder XDG_RUNTIME_DIR. The agent stays when the database is away; requests\n"
    "with a \"wait\" wait for it, too, and others fail.\n"
    "\n"
    "Examples:\n"
    "  leasehold agent --socket /run/leasehold/agent\n"
    "  echo '{\"do\":\"leader\",\"key\":\"billing\"}' | socat - UNIX:/run/leasehold/agent\n"
    "\n"
    "Exit status: 0 when a signal has ended it; 70 if it cannot listen; otherwise see\n"
    "`leasehold --help`.\n";

}  // namespace

command add_agent(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("agent", "Locks for programs in any language, on a socket");
    auto chosen = std::make_shared<agent_options>();
    parser->add_option("--socket", chosen->socket, "Where programs connect: a path")
        ->option_text("PATH");
    parser
        ->add_option(
            "--ttl", chosen->ttl, "Free the keys so long after a crash: 1s to 24h; default 30s"
        )
        ->option_text("D");
    parser->footer(agent_help);
    return {parser, [chosen, &options] { return run_agent(*chosen, options); }};
}

}  // namespace leasehold::cli
