#pragma once
// The operations on keys that several can hold at once: shared mutexes, semaphores, latches,
// barriers. The general MUSTs: hold_store.hpp.
//
// Terms: the *lock header*, or header, of such a key is its lock row, which has no owner; its fence
// counts the grants, so that tokens are ordered across all holders. A *holder* is a row of its own,
// and lives with a session. A hold is *live* while that session is not proved dead.
//
// All kinds follow one rule: a key has a capacity, each holder has some permits of it, and a
// request is granted when its permits still fit and nobody has a mode that it gives way to.
// The capacity of a shared mutex is so large that readers cannot use it up; a writer wants all.
//
// Threads: stateless after construction; safe.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"
#include "locks/hold_store.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

class sql_dialect;

// The bits by which a holder row describes its holder; the first three are hold_mode.
namespace holder_bits {
inline constexpr int shared = 1;
inline constexpr int exclusive = 2;
inline constexpr int upgradeable = 4;
inline constexpr int waiting = 8;          // wants more than it has: holders that can give way do
inline constexpr int passed = 16;          // at a barrier: its phase is complete
inline constexpr int keeps_capacity = 32;  // only in a request: see holder_request
}  // namespace holder_bits

// The mode to show to people; a holder with none of the three bits is one of several equal ones.
constexpr hold_mode hold_mode_of(std::int64_t bits) noexcept {
    if ((bits & holder_bits::exclusive) != 0) return hold_mode::exclusive;
    return (bits & holder_bits::upgradeable) != 0 ? hold_mode::upgradeable : hold_mode::shared;
}

struct holder_request {
    leasehold::key key;
    owner_id owner;
    session_id session;  // must be live
    std::string node_info;
    lock_kind kind = lock_kind::shared_mutex;
    hold_mode mode = hold_mode::shared;
    std::int64_t permits = 1;   // 1 to capacity
    std::int64_t capacity = 1;  // the key's
    int gives_way_to = 0;       // bits: no grant while anybody else has one of them
    // Set: the token of the owner's own hold, which the new one replaces. The old hold must still
    // exist, and stays if the request is refused.
    std::optional<fencing_token> instead_of;
    // The capacity of such a key is fixed, even while nobody uses the key. A request with another
    // one is answered with other_capacity.
    bool keeps_capacity = false;
};

enum class holder_status {
    granted = 1,
    busy = 2,
    session_ended = 3,
    other_kind = 4,      // the key is in use as `kind`
    other_capacity = 5,  // the key is in use with `capacity`, or keeps it
    lost = 6,            // the hold that it should replace is gone
};

struct holder_result {
    holder_status status = holder_status::busy;
    fencing_token token;                // where granted
    std::optional<lock_info> holder;    // where busy: one of those that are in the way
    lock_kind kind = lock_kind::mutex;  // where other_kind
    std::int64_t capacity = 0;          // where other_capacity
};

// The arrivals that a latch has counted, and those still expected.
struct holder_tally {
    lock_kind kind = lock_kind::mutex;
    std::int64_t capacity = 0;
    std::int64_t arrived = 0;
    std::int64_t present = 0;  // live holders; of a mutex its owner, live or not
};

// The state of a key that several can hold and that is in use, without its holders' rows.
struct header_info {
    std::string key;
    fencing_token token;  // of the last grant
    std::string node_info;
    lock_kind kind = lock_kind::shared_mutex;
    std::int64_t capacity = 0;
    std::int64_t arrived = 0;
    std::int64_t waiting = 0;  // live holders' rows with that bit
};

// Names a holder row, which has a hold or waits for one.
struct holder_id {
    leasehold::key key;
    owner_id owner;
};

struct holder_state {
    int bits = 0;
    fencing_token token;
};

class holder_store {
public:
    virtual ~holder_store() = default;
    static std::unique_ptr<holder_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Grants, if the permits of all *other* owners that are not proved dead, plus what has arrived,
    // leave room for those wanted, and none of these owners has a bit of `gives_way_to`. MUST
    // - decide and write under the header, so that of two grants the second sees the first;
    // - take a holder for dead only on positive proof, as hold_store::try_acquire, and remove its
    //   rows of this key;
    // - add 1 to the header's fence and give it as the token; a new header as a new lock row;
    // - change the owner's own row if it has one already, and make it otherwise;
    // - refuse another kind or capacity while a mutex has an owner (dead or not), anybody else has
    //   a live hold, or anything has arrived; and otherwise give the header this kind and capacity;
    // - wait for no proof of a live holder, even if others are dead, whether it grants or refuses.
    //   It waits for proofs of the owner's own hold that the new one replaces, and keeps nobody
    //   else waiting meanwhile.
    // Cost: one round trip; two for a key never seen before; one more for each grant to others that
    // got in between, and if a dead holder's row is locked: MAY be busy then, writing nothing.
    // On MySQL and MariaDB three more if some holders are dead.
    virtual holder_result try_acquire(connection& on, const holder_request& wanted) = 0;

    // The token under which `owner` holds the key now, live or not; nullopt if it only waits.
    virtual std::optional<fencing_token> find_grant(
        connection& on, const key& name, const owner_id& owner
    ) = 0;

    // Removes this hold. Waits only for proofs of it. MAY commit asynchronously, except at a
    // barrier: an owner that left a barrier must not find after a crash that it has passed.
    virtual release_outcome release(connection& on, const hold& held) = 0;

    // Removes the row of `owner`, whether it holds the key or waits.
    virtual release_outcome release_owner(
        connection& on, const key& name, const owner_id& owner
    ) = 0;

    // The proof of hold_store::prove, as a locking read of the holder's own row alone. A successor
    // must remove that row before it is granted.
    virtual bool prove(connection& inside, const hold& held) = 0;

    // Tells which of these holds still exist and are live. Plain reads, on servers one for up to
    // 256 of them. Same order and size.
    virtual std::vector<bool> which_are_held(connection& on, const std::vector<hold>& held) = 0;

    // From now on, and as long as its session lives, `wanted.owner` has the bit `waiting`: on its
    // own row, or on one that holds nothing. No effect if the session is not live.
    virtual void announce(connection& on, const holder_request& wanted) = 0;
    // Takes announce() back. Keeps the owner's hold.
    virtual void withdraw(connection& on, const key& name, const owner_id& owner) = 0;

    // Makes less of a hold; keeps its token. False if the hold does not exist. Can be repeated.
    virtual bool reduce(connection& on, const hold& held, hold_mode mode, std::int64_t permits) = 0;

    // Gives the key this capacity, also while it is used. A holder that has more keeps it, and no
    // later grant counts on the former capacity. False, writing nothing, if the key has no header
    // of this kind. Can be repeated.
    virtual bool resize(connection& on, const key& name, lock_kind kind, std::int64_t capacity) = 0;

    // For a latch: removes the hold and counts one more arrival, both or neither. Answers with the
    // arrivals so far; nullopt if the hold does not exist.
    virtual std::optional<std::int64_t> arrive(connection& on, const hold& held) = 0;
    // Plain read. nullopt if the key was never used.
    virtual std::optional<holder_tally> tally(connection& on, const key& name) = 0;

    // For a barrier: if the live holders that have not passed use up the capacity, all of these
    // pass at once: their rows get `passed`, no permits, and one new token for all, the header's
    // fence plus 1. False, writing nothing, if they do not. Of several concurrent calls one
    // succeeds.
    virtual bool pass(connection& on, const key& name) = 0;
    // These rows, of live sessions or not; nullopt for a missing row. Plain reads, on servers one
    // for up to 256 of them. Same order and size.
    virtual std::vector<std::optional<holder_state>> look(
        connection& on, const std::vector<holder_id>& whose
    ) = 0;

    // Live holds, oldest token first, of one key; or of all keys that begin with `prefix` in the
    // order of key and owner, greater than (after, after_owner), at most `limit`. Plain reads.
    virtual std::vector<lock_info> holders_of(connection& on, const key& name) = 0;
    virtual std::vector<lock_info> list(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        const std::optional<owner_id>& after_owner,
        int limit
    ) = 0;

    // Counts, for keys that begin with `prefix`, mutexes too: held keys, live holds, and waiters.
    // One plain read.
    virtual lock_counts count(connection& on, std::string_view prefix) = 0;

    // A header that has a holder row, live or not, or arrivals; or all such headers of keys that
    // begin with `prefix`, in the order of keys, greater than `after`, at most `limit`. Plain
    // reads.
    virtual std::optional<header_info> header(connection& on, const key& name) = 0;
    virtual std::vector<header_info> headers(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) = 0;

    // Removes every row of the key, forgets arrivals, adds 1 to the fence, and 1 to the notices of
    // each session concerned, in one commit. Waits for proofs; meanwhile only callers that prove or
    // end one of these holds wait, and grants that they get meanwhile MAY stay. Answers with the
    // holds that were live. Changes nothing if the key has an owner, no header, or neither rows of
    // any state nor arrivals.
    virtual std::vector<lock_info> force_release(connection& on, const key& name) = 0;
};

// Calls use(…) with the store of holds of this kind: both stores have functions of these names.
template <class Use>
auto with_store_of(const store_set& of, lock_kind kind, Use&& use) {
    return kind == lock_kind::mutex ? use(of.get<hold_store>()) : use(of.get<holder_store>());
}

}  // namespace leasehold
