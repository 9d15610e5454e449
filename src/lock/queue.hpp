#pragma once
// One call in the queue of a key, with every way it can end settled or said.
//
// | ends because                | the row     | the outcome                                     |
// |-----------------------------|-------------|-------------------------------------------------|
// | the key was handed over     | is a grant  | granted                                         |
// | somebody has the row locked | –           | queue_again: a try would be refused; ask_again, |
// |                             |             | where it waits for who is taking a free key     |
// | there is no queueing        | –           | ask_again: no row, or one of another kind       |
// | the row was removed         | –           | ask_again                                       |
// | time, cancel, or `look_up`  | left        | left_queue; granted, where it was handed over   |
// | the session was lost        | left        | throws session_lost; a grant is released        |
// | an answer was lost          | in doubt    | throws; the session settles it by the owner id  |
#include <functional>
#include <memory>

#include "database/waiting_room.hpp"
#include "lock/acquire.hpp"
#include "lock/keep_asking.hpp"

namespace leasehold {

struct waiting_plan {
    wait_limit limit;
    polling looks;
    bool detects_deadlock = false;
    // Asked now and then: true where the caller knows of a better way than to go on waiting.
    std::function<bool()> look_up;
};

enum class queue_end { granted = 1, ask_again = 2, left_queue = 3, queue_again = 4 };

struct queue_outcome {
    queue_end end = queue_end::ask_again;
    std::shared_ptr<grant> granted;
};

queue_outcome wait_in_queue(
    session::implementation& within, const wish& what, const waiting_plan& how
);

}  // namespace leasehold
