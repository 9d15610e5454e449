#pragma once
// One attempt to be granted something, until its outcome is known: done, not done, or unknown. A
// request that got no answer is asked for with its owner id; one that was not found then may still
// come, and is left to the session, which releases it until it cannot: it is *settled*.
//
// | state   | event                                           | becomes                           |
// |---------|-------------------------------------------------|-----------------------------------|
// | sending | granted                                         | granted                           |
// | sending | refused                                         | refused                           |
// | sending | cleared: what was in the way has just gone      | sending; at the last one refused  |
// | sending | session_ended, says the database                | ended: throws session_lost        |
// | sending | not_done: it failed, and proved that            | sending; at the last one failed   |
// | sending | in_doubt: it failed, and may have been done     | asking                            |
// | asking  | found                                           | granted                           |
// | asking  | not_found: settled                              | sending; at the last one failed   |
// | asking  | unanswered: settled                             | unknown: throws what asking threw |
// | any     | anything else; in the others, anything          | what it is                        |
//
// Each request has an owner id of its own, so that an earlier request can be settled without
// touching this one. A failure is the last one if it will not pass, if time is up, or if it is the
// second. `failed` throws what sending threw.
//
// Threads: one attempt, one thread.
#include <cstddef>
#include <string>

#include "session/session.hpp"

namespace leasehold {

enum class attempt_state {
    sending = 1,
    asking = 2,
    granted = 3,
    refused = 4,
    ended = 5,
    failed = 6,
    unknown = 7,
};

enum class attempt_event {
    granted = 1,
    refused = 2,
    cleared = 3,
    session_ended = 4,
    not_done = 5,
    in_doubt = 6,
    found = 7,
    not_found = 8,
    unanswered = 9,
};

struct attempt_step {
    attempt_state next = attempt_state::sending;
    bool settles = false;
    bool operator==(const attempt_step&) const = default;
};

// Looks up the table. `is_last`: the request is not sent once more.
attempt_step after(attempt_state now, attempt_event what, bool is_last) noexcept;

// Each kind of lock implements its attempts with this: the request, its statement and its question.
class grant_attempt {
public:
    grant_attempt(const grant_attempt&) = delete;
    grant_attempt& operator=(const grant_attempt&) = delete;

protected:
    explicit grant_attempt(session::implementation& within) : within_(within) {}
    virtual ~grant_attempt() = default;

    // True: granted, and accepted. Throws session_lost if the session is not live, and an error
    // whose outcome_is_unknown() where asking failed, too. `of_call` bounds all of it together,
    // except a statement under way.
    bool carry_through(const bounds& of_call);

    // The next request, by an owner id of its own.
    virtual void prepare() = 0;
    // Sends it: granted, refused, cleared or session_ended.
    virtual attempt_event send(const bounds& of_call) = 0;
    // True when the request's owner has the key.
    virtual bool find(const bounds& of_call) = 0;
    virtual void settle() = 0;
    // Granted, or found: from here on the session watches it.
    virtual void accept() = 0;

    // Throws session_lost if the session is not live; begins it, unless the request does.
    virtual void require_session(const bounds& of_call) { within_.require_live(of_call); }
    // The most times that the request is sent again after `cleared`.
    virtual std::size_t max_clearings() const { return 1; }
    // The key that is asked for; of several, the first.
    virtual const key& first_key() const = 0;
    // The name in messages: "'k'".
    virtual std::string label() const { return "'" + first_key().name() + "'"; }
    virtual bool is_one() const { return true; }

    session::implementation& within() const noexcept { return within_; }
    // The notices from before the granted request was sent.
    std::int64_t notices() const noexcept { return notices_; }
    local_clock::time_point sent_at() const noexcept { return sent_at_; }
    // The time when the call began that this attempt is for.
    local_clock::time_point asked() const noexcept { return asked_; }

private:
    void tell_found();
    error no_answer(const error& why) const;

    session::implementation& within_;
    std::int64_t notices_ = 0;
    local_clock::time_point sent_at_{};
    local_clock::time_point asked_{};
};

}  // namespace leasehold
