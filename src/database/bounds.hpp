#pragma once
// How long a call may go on: until when, and two requests to stop before. It goes down with the
// call to whatever may wait: for a free connection, for the back-off, for an attempt to connect. A
// statement that is under way is not given up for it, since its outcome would be unknown.
#include <algorithm>
#include <optional>
#include <stop_token>

#include "leasehold/clock.hpp"

namespace leasehold {

// In which a server that is well can be connected to, for a good-bye after it was silent.
inline constexpr std::chrono::milliseconds moment_to_connect{500};

struct bounds {
    local_clock::time_point deadline = local_clock::time_point::max();
    std::stop_token cancel{};
    std::stop_token over{};  // of the session that the call is made for
    // Says good-bye: connects once, waits for no server that comes back; where it gets no answer
    // nobody else says good-bye either.
    bool is_parting = false;
    // When somebody asked for it, who will be told how long it took.
    std::optional<local_clock::time_point> asked{};

    bool are_stopped() const noexcept { return cancel.stop_requested() || over.stop_requested(); }
    bool have_passed() const noexcept { return local_clock::now() >= deadline; }
};

}  // namespace leasehold
