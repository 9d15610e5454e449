#pragma once
// Waiting for a key for as long as it takes, through outages of the database.
//
//   candidate wanting{db, what, signals};
//   acquired answer = wanting.wait();      // the key, or its holder, or a signal
//   …                                      // the work under the key
//   wanting.part_with(std::move(answer));  // and wait() again, or:
//   wanting.end(status);
//
// | the database is away …                  | wait()                                            |
// |-----------------------------------------|---------------------------------------------------|
// | before there ever was a session         | throws its error: the URL may be wrong; as        |
// |                                         | below where that may pass, and its timeout is set |
// |                                         | or the errand waits at its start                  |
// | after that                              | says so, and asks anew in a session of its own    |
// | until the errand's timeout has passed   | throws its last error                             |
// | and a signal comes                      | ends the tool: there is nobody to say goodbye to  |
//
// A database also counts as away if it no longer accepts our connections, because of the password,
// of rights to connect or because it was dropped; if its tables are gone; and if it is a replica.
// An administrator may be restoring it. If it accepts the connection and refuses the request,
// because of rights to its tables or of their version, it does not count as away, and wait() throws
// that error.
//
// Threads: the main thread only; calls to the database run in the background, so that signals are
// heard meanwhile.
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "cli/progress.hpp"
#include "cli/run/complaints.hpp"
#include "cli/run/errand.hpp"
#include "cli/run/events.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {

// The result of a wait; or the signal that ended it.
struct acquired {
    std::optional<holding> held;
    int cancelled_by = 0;
};

class candidate {
public:
    candidate(
        const database& db, const errand& what LEASEHOLD_LIFETIMEBOUND, signal_inbox& signals
    );

    acquired wait();

    // Ends the session in the background, and releases its lease if there is one. That takes long
    // if the database is away, and the next step does not depend on it.
    void part_with(acquired gone);

    // Called before the tool ends with `status`. A session that cannot end in a short time ends by
    // its ttl, and the tool does not wait for that.
    void end(int status);

private:
    using instant = local_clock::time_point;

    acquired attempt(const errand& what);
    std::chrono::nanoseconds look_up();
    void has_answered();
    void report_away(const error& failure);

    const database& database_;
    const errand& what_;
    signal_inbox& signals_;
    progress line_;
    event_flag session_made_;
    bool has_been_in_touch_ = false;
    std::optional<instant> session_since_;  // the begin of this attempt's session
    std::optional<instant> away_since_;
    complaints said_;  // those about this outage
    std::vector<std::unique_ptr<background<bool>>> departing_;
};

}  // namespace leasehold::cli
