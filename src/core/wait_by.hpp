#pragma once
// Waits until a deadline of any clock: clock.hpp.
#include <stop_token>

#include "leasehold/clock.hpp"

namespace leasehold {

// `wait` waits until a time of the local clock, and answers with what it got, or nothing. If time
// is left on the deadline's own clock after that, `wait` is called again.
template <class Wait>
auto wait_by(const wait_deadline& deadline, const std::stop_token& cancel, Wait&& wait) {
    using local = local_clock::time_point;
    for (;;) {
        const auto left = deadline.left();  // first, so that the end of the local clock stays that
        const auto now = local_clock::now();
        auto got = wait(left < local::max() - now ? now + left : local::max());
        const bool is_over = deadline.left() <= std::chrono::nanoseconds{0};
        if (got || cancel.stop_requested() || is_over) return got;
    }
}

}  // namespace leasehold
