#pragma once
// Watches the command while its lease lives, and ends it before the lease does.
//
// | what happens                    | what the supervisor does                                   |
// |---------------------------------|------------------------------------------------------------|
// | the tool is asked to end, …     | passes the signal on to the command's process group        |
// | somebody asks for the key       | SIGTERM to the group, once; the command ends when it can   |
// | the lease is lost               | SIGTERM to all that came of the command, whatever group or |
// |                                 | session they are in; after half the margin SIGKILL         |
// | the tool wakes up after that | SIGKILL at once |
// | the tool itself stands still    | nothing: the guard does all this                           |
// | the command ends                | reports how; leaves alone what it has started              |
// | … and is to wait for all        | keeps the lease until the last of them has ended           |
//
// Threads: used by the main thread only.
#include <chrono>
#include <optional>

#include "cli/run/child.hpp"
#include "cli/run/events.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold::cli {

class supervisor {
public:
    supervisor(
        const lease& held,
        const session_settings& timing LEASEHOLD_LIFETIMEBOUND,
        child& running,
        signal_inbox& signals,
        bool waits_for_all
    );

    // Follows the command from its beginning to its end. Answers with its status as a shell would
    // say it; nullopt if it was stopped because the lease was lost.
    std::optional<int> run();
    // The last signal passed on that asks a program to end; 0 if there was none.
    int asked_by() const noexcept { return asked_by_; }
    // Somebody asked for the key, and the command was told.
    bool was_revoked() const noexcept { return was_revoked_; }

private:
    using instant = local_clock::time_point;

    bool is_over();
    void pass_signals_on();
    void heed_loss();
    void heed_request();
    void end_rest();
    std::chrono::nanoseconds pause() const;

    const lease& held_;
    const session_settings& timing_;
    child& running_;
    signal_inbox& signals_;
    const bool waits_for_all_;
    event_flag loss_;                 // or a request
    std::optional<instant> kill_at_;  // set when the command was told to stop
    bool is_killed_ = false;
    int asked_by_ = 0;
    bool was_revoked_ = false;
};

}  // namespace leasehold::cli
