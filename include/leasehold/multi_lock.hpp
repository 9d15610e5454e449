#pragma once
// Several keys as one: all of them, or none.
//
//   leasehold::multi_lock both{session, {"account/4", "account/17"}};
//   if (auto held = both.acquire_for(5s)) {
//       move(tx, 100);
//       held->verify_in(tx);  // one statement proves both; throws lease_lost
//       tx.commit();
//   }                         // both released
//
// | the keys are …                   | try_acquire()                 | release of the lease |
// |----------------------------------|-------------------------------|----------------------|
// | all free, or their holders dead  | a lease, each token + 1       | –                    |
// | one of them held by anyone else  | busy, and who holds the first | –                    |
// | held through this lease          | busy                          | all free             |
// | one of them lost meanwhile       | by its state                  | the others are free  |
// | one of them no mutex (permits …) | throws invalid_argument       | –                    |
//
// | a multi_lease is … | lost() | verify_in(tx)     | becomes                                   |
// |--------------------|--------|-------------------|-------------------------------------------|
// | held               | quiet  | passes            | lost as soon as one of its keys is        |
// | lost               | fired  | throws lease_lost | released; what it still has stays its own |
// | spent: lease.hpp   | fired  | throws lease_lost | –                                         |
//
// The keys are those of leasehold::mutex, and exclude its holders and are excluded by them.
//
// Promises: those of leasehold::mutex for each key. No key of a refused set is ever held, and none
// while the call waits, so that overlapping sets asked for in any order cannot deadlock.
// Does not promise: fairness. A waiting acquire asks again at jittered intervals; a large set can
// be overtaken by small ones again and again.
//
// A call that was asked to stop before it began is empty at once, and asks nothing; in an outage it
// ends as a waiting call of a mutex does.
//
// Threads: multi_lock is safe; a multi_lease: one thread at a time, but lost(), why_lost(),
// revoke_requested() and held_locally() from any.
// Errors: invalid_argument for no key, more than 100, or a bad setting; otherwise as for mutex.
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

// A multi_lock has these settings for all its keys together.
struct multi_lock_settings {
    // A fixed term for all keys, 1 ms to 366 days, instead of a life with the session; see mutex.
    std::optional<std::chrono::microseconds> fixed_term{};
    std::chrono::milliseconds min_poll{10};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{250};  // min_poll to 1 h
};

class [[nodiscard]] LEASEHOLD_EXPORT multi_lease {
public:
    multi_lease(multi_lease&&) noexcept;
    multi_lease& operator=(multi_lease&&) noexcept;
    // Releases; never throws, and reports to the observer instead.
    ~multi_lease();

    // The keys in byte order, each once, and their tokens in the same order.
    const std::vector<key>& keys() const&;
    const std::vector<key>& keys() const&& = delete;
    const std::vector<fencing_token>& tokens() const&;
    const std::vector<fencing_token>& tokens() const&& = delete;
    // Throws invalid_argument for a key that is not among them.
    fencing_token token(const key& of) const;
    // One owner id for all of them.
    const owner_id& owner() const&;
    const owner_id& owner() const&& = delete;

    // Fires when the first of the keys is lost, or the lease is released.
    std::stop_token lost() const&;
    std::stop_token lost() const&& = delete;
    loss_reason why_lost() const;
    // Fires when the holder was asked for any of the keys; see lease::revoke_requested.
    std::stop_token revoke_requested() const&;
    std::stop_token revoke_requested() const&& = delete;
    bool held_locally() const&;
    bool held_locally() const&& = delete;
    local_clock::time_point deadline() const&;
    local_clock::time_point deadline() const&& = delete;

    // See lease::extend; one statement for each key. If it throws, some keys may have the new term:
    // deadline() is the earliest of all ends.
    [[nodiscard]] bool extend(std::chrono::microseconds term) &;

    // Asks the database: false means that at least one is lost, and lost() has fired.
    [[nodiscard]] bool verify() &;
    // See lease::verify_in; one statement for all keys.
    void verify_in(transaction_ref tx) &;

    // Gives all keys back. `released`: all were ours until now; `not_held`: at least one was not.
    // The observer is told of each key what it is told of a lease on that key alone.
    release_outcome release();

    class implementation;  // private: src/locks/multi_lease.hpp

private:
    friend struct handle_maker;
    explicit multi_lease(std::shared_ptr<implementation> held) noexcept;

    handle<std::shared_ptr<implementation>, "multi_lease", refuse_spent> held_;
};

// The outcome of a try: a lease on all keys, or the holder of the first busy one.
class [[nodiscard]] multi_acquisition : public key_result<multi_acquisition, multi_lease> {
public:
    using key_result::key_result;
};

class LEASEHOLD_EXPORT multi_lock {
public:
    static constexpr std::size_t max_keys = 100;

    // The order of `keys` does not matter; a key named twice is one key.
    multi_lock(session& within, std::vector<key> keys, multi_lock_settings settings = {});
    multi_lock(multi_lock&&) noexcept;
    multi_lock& operator=(multi_lock&&) noexcept;
    ~multi_lock();

    // Asks once.
    multi_acquisition try_acquire();
    // Waits, as long as it takes; empty only when `cancel` was requested.
    multi_acquisition acquire(std::stop_token cancel = {});
    // Waits for `timeout` at most; zero or less asks once.
    multi_acquisition acquire_for(wait_time timeout, std::stop_token cancel = {});
    multi_acquisition acquire_until(wait_deadline deadline, std::stop_token cancel = {});

    const std::vector<key>& keys() const&;
    std::vector<key> keys() const&& { return keys(); }

    class implementation;  // private: src/locks/multi_lock.cpp

private:
    handle<std::shared_ptr<implementation>, "multi_lock"> inner_;
};

}  // namespace leasehold
