#pragma once
// The limits of a call: a deadline, and two requests to stop before. They go down with the call to
// each place that may wait: for a free connection, for the back-off, for an attempt to connect. A
// statement that is under way is not given up for them, since its outcome would be unknown.
#include <algorithm>
#include <optional>
#include <stop_token>

#include "leasehold/clock.hpp"

namespace leasehold {

// The time in which a server that is well can be connected to, for a good-bye after it was silent.
inline constexpr std::chrono::milliseconds moment_to_connect{500};

struct bounds {
    local_clock::time_point deadline = local_clock::time_point::max();
    std::stop_token cancel{};
    std::stop_token over{};  // of the session that the call is made for
    // Says good-bye: connects once, waits for no server that comes back. If it gets no answer no
    // other call says good-bye either.
    bool is_parting = false;
    // The time when somebody asked for it; the observer is told how long it took.
    std::optional<local_clock::time_point> asked{};

    bool are_stopped() const noexcept { return cancel.stop_requested() || over.stop_requested(); }
    bool have_passed() const noexcept { return local_clock::now() >= deadline; }
};

}  // namespace leasehold
