#pragma once
// Gets a place among several holders of a key, with every way it can go wrong settled or said: the
// common part of shared_mutex, semaphore and latch.
//
// Threads: one seeker, one thread.
#include <memory>
#include <optional>

#include "leasehold/lease.hpp"
#include "locks/attempt.hpp"
#include "locks/holder_store.hpp"
#include "locks/keep_asking.hpp"
#include "session/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

// The wish that a seeker asks for, again and again until it is granted.
struct hold_wish {
    key name;
    lock_kind kind;
    hold_mode mode = hold_mode::shared;
    std::int64_t permits = 1;
    std::int64_t capacity = 1;
    int gives_way_to = 0;                 // holder_bits
    bool announces_itself = false;        // while it waits, so that others give way
    std::shared_ptr<grant> instead_of{};  // a hold of this session to be made more of
    // `capacity` is what a key that was never used begins with; otherwise the key's own counts.
    bool follows_key = false;
    std::optional<std::chrono::microseconds> max_hold{};
};

// Refuses a request that cannot be granted while the key is in use in another way.
[[noreturn]] void refuse_other_use(const hold_wish& wished, const holder_result& answer);

// Refuses a request for more permits than there are.
[[noreturn]] void refuse_more_than_all(const hold_wish& wished);

// Refuses a lease unless it is of this kind, on this key and in this session.
void require_ours(
    const lease& held, const session::implementation& within, const key& name, lock_kind kind
);
// The grant of such a lease. Throws lease_lost if that is lost.
std::shared_ptr<grant> grant_of(
    const lease& held, const session::implementation& within, const key& name, lock_kind kind
);
[[noreturn]] void refuse_lost(const key& name);

// Makes less of a hold. Sent again when the answer is lost: it sets a mode and a number, so that
// repeating is harmless. Throws lease_lost if the hold is gone.
void reduce(session::implementation& within, lease& held, hold_mode mode, std::int64_t permits);

// The request under an owner id of its own.
holder_request request_for(
    const session::implementation& within, const hold_wish& wished, const owner_id& owner
);

class seeker final : grant_attempt {
public:
    seeker(std::shared_ptr<session::implementation> within, hold_wish wished);
    // Withdraws its announcement. Never throws.
    ~seeker() override;

    // Asks once, or once more in a wait. Throws invalid_argument if the key is in use as another
    // kind or with another capacity, lease_lost if the hold to be upgraded is gone, and what any
    // attempt throws.
    acquisition try_once();

    // Empty at once, without a question to the database, if `cancel` was requested before.
    acquisition wait(const wait_limit& limit, const polling& polls);

    // The capacity of the key, as far as it was seen.
    std::int64_t capacity() const noexcept { return wish_.capacity; }

private:
    void prepare() override;
    attempt_event send(const bounds& of_call) override;
    holder_result ask(const bounds& of_call);
    holder_result ask_following(const bounds& of_call);
    bool find(const bounds& of_call) override;
    void settle() override;
    void accept() override;
    const key& first_key() const override { return wish_.name; }

    owner_id owner_of_next_try() const;
    [[noreturn]] void refuse_lost() const;
    bool is_announced() const;
    void announce();
    void withdraw() noexcept;

    const std::shared_ptr<session::implementation> session_;
    // An announcement is no grant that an end() sees.
    const session::implementation::under_way seeking_;
    hold_wish wish_;  // its capacity follows the key
    bounds of_call_;
    // These belong to the try that is under way.
    owner_id owner_;
    holder_result answer_;
    std::shared_ptr<grant> granted_;

    std::optional<owner_id> announced_;
    std::optional<std::int64_t> notices_when_announced_;  // nullopt: it may be missing
    bool may_come_late_ = false;                          // an announcement that lost its answer
};

}  // namespace leasehold
