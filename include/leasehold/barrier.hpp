#pragma once
// A point at which processes wait for each other, any number of times: no participant passes before
// participants() of them have arrived.
//
//   leasehold::barrier step{session, "simulation/step", 3};
//   while (auto passed = step.arrive_and_wait_for(5min)) compute(passed->number);
//
// | a participant …              | counts | becomes                                              |
// |------------------------------|--------|------------------------------------------------------|
// | arrives                      | yes    | waiting; or passed, with all others, as the last one |
// | waits                        | yes    | passed, when the phase is complete                   |
// | gives up, or is cancelled    | no     | gone, unless it had passed already                   |
// | dies, or its session is lost | no     | gone; its place in the phase is free                 |
// | is freed by force            | no     | told so: lease_lost                                  |
//
// A barrier can be left, too: a participant that passes by enter() is inside until leave(), which
// waits until all that passed with it have left or died.
//
//   auto inside = step.enter();       // a lease, which may be lost as any other
//   work_on(inside->token().number);
//   const bool all_left = step.leave(std::move(*inside));
//   if (all_left) merge();            // nobody of this phase is at work any more
//
// Promises: all of a phase pass at once, in one commit, when exactly participants() that live by
// the database's clock have arrived, and every one is told of the same phase. Phases are numbered
// by the key's fencing token: each has a greater number than all before. A participant that gives
// up at the moment the phase completes is told that it passed. A participant that dies while it
// waits is not counted, and the other participants wait for somebody in its place: all participants
// of a phase were alive when it completed.
// Does not promise: that a participant still lives when the other participants go on. Participants
// beyond the number of places wait for the next phase.
//
// participants() belongs to the key while anybody waits, as the permits of a semaphore do.
// Waiting asks again at jittered intervals, two reads each. A caller that was asked to stop before
// the call does not take part: the answer is nullopt, at once, and the database is not asked. In an
// outage the call ends as a wait for a mutex does, by an exception, since others may have passed
// with this participant; the session then gives up the place.
// Source: std::barrier; Curator's DistributedDoubleBarrier, whose members are ephemeral, too.
//
// Threads: distinct objects, safe; one barrier object, safe: each call is a participant.
// Errors: invalid_argument as for a latch; session_lost; lease_lost as above.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"
#include "leasehold/whole_count.hpp"

namespace leasehold {

// A waiter asks the database at these intervals whether all have arrived.
struct barrier_settings {
    std::chrono::milliseconds min_poll{10};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{250};  // min_poll to 1 h
};

class LEASEHOLD_EXPORT barrier {
public:
    static constexpr std::int64_t max_participants = 1'000'000'000;

    barrier(
        session& within,
        leasehold::key name,
        whole_count participants,
        barrier_settings settings = {}
    );
    barrier(barrier&&) noexcept;
    barrier& operator=(barrier&&) noexcept;
    ~barrier();

    // Takes part in a phase. Answers with the number of the phase that was passed, or nullopt if
    // `timeout` ran out, or `cancel` was requested, before it was complete.
    [[nodiscard]] std::optional<fencing_token> arrive_and_wait(std::stop_token cancel = {});
    [[nodiscard]] std::optional<fencing_token> arrive_and_wait_for(
        wait_time timeout, std::stop_token cancel = {}
    );
    [[nodiscard]] std::optional<fencing_token> arrive_and_wait_until(
        wait_deadline deadline, std::stop_token cancel = {}
    );

    // Takes part, and stays inside: the token of the lease is the number of the phase. Otherwise
    // the lease is like any other; if it is released without leave(), it waits for nobody.
    acquisition enter(std::stop_token cancel = {});
    acquisition enter_for(wait_time timeout, std::stop_token cancel = {});
    acquisition enter_until(wait_deadline deadline, std::stop_token cancel = {});

    // Releases the lease, and waits until all that passed with it have left, or their sessions have
    // died. False if `timeout` ran out, or `cancel` was requested, before that; the lease is
    // released all the same. lease_lost if the lease was lost before this call: the others may have
    // gone on without it. invalid_argument for a lease that is not one of this barrier in this
    // session.
    [[nodiscard]] bool leave(lease&& inside, std::stop_token cancel = {});
    [[nodiscard]] bool leave_for(lease&& inside, wait_time timeout, std::stop_token cancel = {});
    [[nodiscard]] bool leave_until(
        lease&& inside, wait_deadline deadline, std::stop_token cancel = {}
    );

    std::int64_t participants() const;
    const leasehold::key& key() const&;
    leasehold::key key() const&& { return key(); }

    class implementation;  // private: src/locks/barrier.cpp

private:
    handle<std::shared_ptr<implementation>, "barrier"> inner_;
};

}  // namespace leasehold
