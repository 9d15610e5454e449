#pragma once
// These must be true of every history, whatever was done to its processes and servers.
//
// C1  Nobody believes to hold a key while somebody else does.
// C2  Tokens are unique and grow: a request sent after an answer gets a greater one than that. A
//     release that says it freed the key was its holder's.
// C3  A write under proof is there exactly once, in the order of tokens, and a refused one is not;
//     nothing was accepted from a holder after its successor had been granted.
// C4  The same without proof loses updates, and with it is refused. A run where neither happened
//     has put nothing to the test.
// C5  A write under the proof of a set of keys is there for all of them, or for none; and
//     each key of a set keeps C1 to C3 as any other.
// C7  After the last fault every key is granted again soon to one who asks for it.
//
// All are sorts and sweeps, since tokens make the order explicit. A finding is a violation in one
// line; none means that the check holds.
//
// Threads: pure functions.
#include <chrono>
#include <cstdint>

#include "soak/facts.hpp"
#include "soak/finding.hpp"

namespace leasehold::soak {

findings check_beliefs(const facts& all);
findings check_tokens(const facts& all);
findings check_effects(const facts& all);
findings check_sets(const facts& all);
findings check_control(const facts& all);
findings check_liveness(const facts& all, std::chrono::nanoseconds timeout);

// The losses of the writes without proof.
struct control_loss {
    std::int64_t acknowledged = 0;
    std::int64_t unknown = 0;
    // Acknowledged less what the rows count in the end: at least so many were lost.
    std::int64_t lost = 0;
    // By the history alone: a holder not freed by force wrote over its successor's write.
    std::int64_t overwritten_by_a_stale_holder = 0;
};
control_loss measure_control(const facts& all);

}  // namespace leasehold::soak
