#pragma once
// The description of a lock: its holder, and the outcome of a release.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "leasehold/identity.hpp"
#include "leasehold/lock_kind.hpp"

namespace leasehold {

// The holder of a key, as the database saw it when it was asked.
struct lock_info {
    std::string key{};
    fencing_token token{};  // of the current or, where free, the last grant
    bool is_held = false;
    std::optional<owner_id> owner{};      // absent where free
    std::optional<session_id> session{};  // absent where free or held for a fixed term
    std::string node_info{};              // name@host:pid of the holder, for people
    std::int64_t reentrant_count = 0;
    std::chrono::microseconds held_for{0};  // since the grant, by the database's clock
    // The time until the holder would lose it, if it shows no further sign of life.
    std::chrono::microseconds remaining{0};
    std::string metadata{};  // the holder's own text; empty: none
    // Live waiters in its queue; for a shared mutex the writers, and the holders that upgrade. A
    // refused try counts none.
    std::int64_t waiters = 0;
    // If several can hold a key, the fields above describe one holder; these describe it, and all
    // of them. A refused try does not count them.
    lock_kind kind = lock_kind::mutex;
    hold_mode mode = hold_mode::exclusive;
    std::int64_t permits = 0;  // of a semaphore: the number of permits it has
    std::int64_t holders = 0;  // the number of holders, each with an entry of its own in a list
    std::int64_t permits_in_use = 0;  // of a semaphore: the permits of all holders
    // The number of permits of a semaphore, or of places at a latch or a barrier.
    std::int64_t capacity = 0;
    std::int64_t arrived = 0;  // at a latch, also if nobody holds a place at it
    // In a list of free keys alone: the time since its last holder let go or was lost; for a key
    // that several can hold, since its last grant. nullopt if that is unknown.
    std::optional<std::chrono::microseconds> free_for{};
};

// Counts of all keys, or of some: see count_locks().
struct lock_counts {
    std::int64_t keys = 0;     // held by somebody
    std::int64_t holders = 0;  // of all keys
    std::int64_t waiters = 0;  // live waiters, as in lock_info::waiters
};

// A waiter for a key.
struct waiter_info {
    owner_id owner{};  // of the lease that it waits for
    session_id session{};
    std::string node_info{};  // name@host:pid, for people
    std::chrono::microseconds waits_for{0};
    std::string key{};
};

// The open transaction that keeps a key's row locked, as far as the server tells: inspect.hpp says
// what each engine does. Fields that the server does not tell are empty.
struct row_lock_info {
    std::string key{};
    // The server's number of the connection (PostgreSQL: pid), on SQLite the process; 0: not told.
    std::int64_t connection = 0;
    std::string user{};
    std::string host{};
    std::string application{};  // the name its connection has given itself
    std::string state{};        // its activity now, in the server's word: "idle in transaction"
    std::string statement{};    // running or, on PostgreSQL, the last one; at most 200 characters
    std::optional<std::chrono::microseconds> open_for{};  // since its transaction began
    bool may_be_others = false;   // others may be, too: this is the one that began first
    bool locks_all_keys = false;  // SQLite: the file, and with it every key
    std::string missing_right{};  // the right that the server demands for the missing fields
    std::string way_to_end{};     // an administrator's way to end it: "KILL 1234"
};

// release() gives one of these answers.
enum class release_outcome {
    released = 1,    // the key is free
    still_held = 2,  // a recursive hold: one level less
    not_held = 3,    // it was not ours any more; nothing was changed
    unknown = 4,  // the answer was lost; it is settled in the background, at the latest by the TTL
};

constexpr const char* name_of(release_outcome outcome) noexcept {
    switch (outcome) {
        case release_outcome::released:
            return "released";
        case release_outcome::still_held:
            return "still_held";
        case release_outcome::not_held:
            return "not_held";
        case release_outcome::unknown:
            return "unknown";
    }
    return "outcome this program does not know";
}

}  // namespace leasehold
