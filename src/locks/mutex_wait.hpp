#pragma once
// One call that waits for a mutex, step by step. Its owner goes on with it until it has to wait for
// something, and again when that has come: a thread that waits itself (mutex::acquire), or threads
// that go on with many (unattended_acquire.cpp).
//
// | stage     | what is done                                 | becomes                            |
// |-----------|----------------------------------------------|------------------------------------|
// | beginning | where the session has not begun: a try       | asking                             |
// | asking    | of a contended key: queues; otherwise a try, | queued, or resting where there was |
// |           | and where that is refused, queues            | no queueing                        |
// | queued    | stands in the wait registry                  | resting, where the row was lost    |
// | resting   | nothing, for longer with each time           | asking                             |
// | any       | granted; time is over, or it is cancelled;   | over                               |
// |           | its session is lost; an error that stays     |                                    |
//
// Threads: one at a time.
#include <functional>
#include <memory>
#include <optional>

#include "database/bounds.hpp"
#include "locks/keep_asking.hpp"
#include "locks/mutex.hpp"
#include "locks/queue.hpp"

namespace leasehold {

class mutex_wait {
public:
    // `on_news`: see waiting_plan; empty for a caller that waits by wait().
    mutex_wait(mutex::implementation& of, wait_limit limit, std::function<void()> on_news = {});

    // The outcome, or an exception, when the call is over; nullopt when it has to wait.
    std::optional<acquisition> go_on();
    // The latest time to go on, unless an event comes before.
    local_clock::time_point wake() const;
    // Waits until there is something to do.
    void wait();

    // The time from which on give_up() may end the call, if nobody has gone on with it by then.
    local_clock::time_point give_up_at() const noexcept;
    // Ends the call with what is known without asking the database.
    acquisition give_up();

private:
    enum class stage { beginning, asking, queued, resting };
    enum class verdict { goes_on, waits, is_over };  // over: with `answer_`

    verdict begin();
    verdict ask();
    verdict try_it();
    verdict queue_up();
    verdict heed(queue_outcome outcome);
    verdict rest_a_while();
    verdict step();
    bool is_rested() const;
    acquisition given_up();
    leasehold::session::implementation& session() const noexcept { return of_.session(); }

    mutex::implementation& of_;
    const wait_limit limit_;
    const std::function<void()> on_news_;
    const bounds of_call_;
    stage stage_ = stage::beginning;
    bool is_contended_ = false;  // others wait for the key: it is queued for without a try before
    bool has_tried_ = false;     // since it last rested
    bool was_refused_ = false;   // at least once
    int refusals_ = 0;
    local_clock::time_point rested_{};
    std::unique_ptr<queued_call> queued_;
    acquisition answer_;
};

}  // namespace leasehold
