#pragma once
// One program that is connected to the agent: it does the program's requests, one after another,
// and gives back what the program holds when the connection ends.
//
// Threads: serve() belongs to one; hang_up() may be called from any, once or more.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "cli/agent/agent_lines.hpp"
#include "cli/agent/session_source.hpp"
#include "cli/run/events.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/once.hpp"

namespace leasehold::cli {

class agent_client {
public:
    agent_client(descriptor socket, session_source& sessions)
        : socket_(std::move(socket)), sessions_(sessions) {}

    int socket() const noexcept { return socket_.number(); }

    // Returns when the program has closed the connection, or after hang_up().
    void serve();
    // Ends waits, and gives all back after the requests that the program has sent; if there is a
    // `why`, at once, and then the program is told of each hold that this is lost.
    void hang_up(const char* why);

private:
    struct hold {
        template <class Granted>
        hold(
            std::shared_ptr<session> of,
            Granted granted,
            std::optional<std::chrono::milliseconds> limit
        )
            : within(std::move(of)), what(std::move(granted)), keep_alive(limit) {}

        std::shared_ptr<session> within;  // lives as long as the hold
        std::variant<lease, leadership, task_run> what;
        std::optional<std::chrono::milliseconds> keep_alive;
        // Ends before the hold: a release is no loss.
        std::optional<std::stop_callback<std::function<void()>>> telling{};
    };
    using holds = std::map<std::int64_t, hold>;

    static lease& lease_of(hold& each);

    std::optional<std::string> next_line();
    bool receive();
    std::optional<local_clock::time_point> next_limit() const;
    void drop_unkept();
    void say(const nlohmann::json& line) noexcept;
    void watch_newest();
    void tell_lost(std::int64_t number, const char* why) noexcept;

    void obey(const std::string& line);
    nlohmann::json answer_to(const agent_request& asked);
    template <class Attempt>
    nlohmann::json despite_losses(const agent_request& asked, const Attempt& attempt);
    void require_connection() const;
    nlohmann::json lock(const agent_request& asked);
    nlohmann::json elect(const agent_request& asked);
    nlohmann::json once(const agent_request& asked);
    nlohmann::json unlock(const agent_request& asked);
    nlohmann::json finish(const agent_request& asked);
    nlohmann::json proclaim(const agent_request& asked);
    nlohmann::json leader(const agent_request& asked) const;
    nlohmann::json verify(const agent_request& asked);

    template <class Granted>
    nlohmann::json keep(
        const agent_request& asked, std::shared_ptr<session> within, Granted granted
    );
    template <class Wanted>
    Wanted& held_as(const agent_request& asked, const char* command);

    const descriptor socket_;
    session_source& sessions_;
    std::stop_source hung_up_;
    std::atomic<const char*> why_hung_up_ = "";
    std::string received_;
    local_clock::time_point last_heard_ = local_clock::now();
    std::mutex sending_;
    std::int64_t last_number_ = 0;
    holds holds_;
};

}  // namespace leasehold::cli
