#pragma once
// What stands behind a leasehold::session: its row, its heartbeat, and the grants it watches.
//
// The heartbeat thread talks to the database over a connection of its own; the watch thread talks
// to nobody and only compares the clock with deadlines, so that no hanging call can keep a holder
// from being told in time. A grant that is lost runs its callbacks on whichever thread noticed.
//
// Threads: safe.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <vector>

#include "leasehold/session.hpp"
#include "lock/grant.hpp"
#include "session/database.hpp"
#include "session/lease_machine.hpp"

namespace leasehold {

class session::implementation {
public:
    implementation(leasehold::database within, session_settings settings);
    ~implementation();
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;

    void end() noexcept;

    const session_id& id() const noexcept { return id_; }
    const std::string& node_info() const noexcept { return node_info_; }
    const session_settings& settings() const noexcept { return settings_; }
    const leasehold::database& database() const noexcept { return database_; }
    leasehold::database::implementation& inner() const noexcept { return *database_.inner(); }

    bool is_live() const;
    loss_reason reason() const;
    local_clock::time_point deadline() const;
    std::stop_token lost() const noexcept { return lost_.get_token(); }
    // Throws session_lost where it is not live.
    void require_live() const;

    // The notices known when an acquire is about to be sent; give it to watch().
    std::int64_t notices() const;
    // From here on the grant is told when it is lost. Loses it at once where the session is lost.
    void watch(const std::shared_ptr<grant>& what, std::int64_t notices_when_sent);
    void forget(const grant& what);

    // An acquire under this owner id was sent and its answer lost. It may still be waiting in the
    // server and be granted later, so it is released again and again until it cannot.
    void settle_later(const key& name, const owner_id& owner);

private:
    struct doubt {
        key name;
        owner_id owner;
        local_clock::time_point until;
    };
    using lost_grant = std::pair<std::shared_ptr<grant>, loss_reason>;

    void start();
    void keep_alive(std::stop_token stop);
    void keep_watch(std::stop_token stop);
    void beat();
    void ask_what_is_held(store& stores, connection& on);
    void settle_doubts();
    void clean_up_after_the_dead();
    void end_in_database(bool remove) noexcept;
    void release_everything() noexcept;
    void tell_losses();
    local_clock::time_point earliest_deadline() const;
    connection& own_connection(std::chrono::milliseconds patience);
    void sleep_until(local_clock::time_point wake, std::stop_token stop);
    std::vector<std::shared_ptr<grant>> watched() const;

    const leasehold::database database_;
    const session_settings settings_;
    const session_id id_;
    const std::string node_info_;
    std::stop_source lost_;

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<lease_machine> machine_;
    std::int64_t notices_ = 0;
    bool must_ask_ = false;  // grants may have been lost by force since they were watched
    bool has_ended_ = false;
    std::unordered_map<const grant*, std::shared_ptr<grant>> grants_;
    std::vector<doubt> doubts_;
    bool was_ever_in_doubt_ = false;

    // Of the heartbeat thread alone.
    std::unique_ptr<connection> own_connection_;
    local_clock::time_point next_reap_{};

    std::jthread heartbeat_thread_;
    std::jthread watch_thread_;
};

}  // namespace leasehold
