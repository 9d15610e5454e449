#pragma once
// Decides how long a session counts as alive, and when it must send a heartbeat; does no I/O.
//
// | state   | event                                   | becomes                                   |
// |---------|-----------------------------------------|-------------------------------------------|
// | live    | renewed, answered before the deadline   | live, deadline = sent + ttl - margin      |
// | live    | renewed, answered at or after it        | lost (expired): the answer came too late  |
// | live    | ended, says the database, before it     | lost (ended_by_server)                    |
// | live    | ended, says the database, at or after it| lost (expired)                            |
// | live    | failed or unknown                       | live, tries again sooner                  |
// | live    | the clock reaches the deadline          | lost (expired)                            |
// | live    | its owner ends it                       | lost (session_ended)                      |
// | lost    | anything                                | lost, for the first reason                |
//
// The deadline counts from before the request was sent: the database cannot have started the lease
// earlier, so however long the answer took, the database's own expiry is never before it
// (Gray and Cheriton 1989; docs/decisions/sessions.md, "Told before lost").
//
// Threads: none of its own; its owner guards it.
#include <chrono>

#include "leasehold/clock.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

// The settings of a session with every default filled in. Throws invalid_argument for values out
// of range or in contradiction.
session_settings completed(session_settings given);

class lease_machine {
public:
    using instant = local_clock::time_point;

    // The first request was sent at `sent`, and answered with success at `answered`.
    lease_machine(const session_settings& settings, instant sent, instant answered);

    // Nothing was sent: live, without a deadline.
    explicit lease_machine(const session_settings& settings);

    void renewed(instant sent, instant answered);
    void ended_by_server(instant answered);
    void failed(instant now);
    void tick(instant now);
    void hurry(instant now);  // the next heartbeat is due now
    void end();

    bool is_live() const noexcept { return reason_ == loss_reason::none; }
    loss_reason reason() const noexcept { return reason_; }
    instant deadline() const noexcept { return deadline_; }
    instant next_heartbeat() const noexcept { return next_heartbeat_; }
    // The time that a heartbeat sent at `now` may wait for its answer.
    std::chrono::milliseconds time_to_answer(instant now) const;
    // The longest time from sending a request that renewed it to the answer of the next one.
    instant::duration longest_gap() const noexcept { return longest_gap_; }
    // True for a gap of over two thirds of the time to the loss: little is left to spare.
    bool is_near_loss(instant::duration gap) const noexcept {
        return gap > (ttl_ - margin_) * 2 / 3;
    }

private:
    void lose(loss_reason why);

    const std::chrono::milliseconds ttl_;
    const std::chrono::milliseconds heartbeat_every_;
    const std::chrono::milliseconds margin_;
    loss_reason reason_ = loss_reason::none;
    instant deadline_;
    instant next_heartbeat_;
    instant last_sent_;  // the last request that renewed it
    instant::duration longest_gap_{0};
};

}  // namespace leasehold
