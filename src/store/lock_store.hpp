#pragma once
// What any database must be able to do with locks. One implementation per dialect, all held to the
// suites in tests/conformance.
//
// Words: a *hold* is a row with an owner. It is *live* while its session is not proved dead and its
// fixed term, if any, has not passed, both by the database's clock read at the moment of the test
// and never by a snapshot or by an earlier reading.
//
// Every operation MUST
// - send only durations, never instants;
// - decide by what it changed, never by reading back;
// - be one statement or one packet outside a transaction, unless its contract says otherwise;
// - write nothing, and wait for nobody, when it refuses;
// - leave no transaction open, whatever fails;
// - let leasehold::error through as the driver made it.
//
// Threads: stateless after construction; safe.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"
#include "leasehold/lock_kind.hpp"

namespace leasehold {

// The row of a session that died is kept for longer, see session/reaper.cpp.
inline constexpr std::chrono::seconds lock_delay_max{60};

struct acquire_request {
    leasehold::key key;
    owner_id owner;
    session_id session;  // must be live, also when the term is fixed
    std::string node_info;
    // Set: a fixed term. The row then names no session.
    std::optional<std::chrono::microseconds> hold_at_most;
    // For so long after this holder died nobody is granted the key; at most lock_delay_max.
    std::chrono::microseconds lock_delay{0};
    std::string metadata{};  // empty: none
};

enum class acquire_status { granted = 1, busy = 2, session_ended = 3, wrong_kind = 4 };

struct acquire_result {
    acquire_status status = acquire_status::busy;
    fencing_token token;                // where granted
    std::optional<lock_info> holder;    // where busy, if one is live when it is read
    lock_kind kind = lock_kind::mutex;  // where wrong_kind: what the row is used as
};

struct hold {
    leasehold::key key;
    owner_id owner;
    fencing_token token;
    lock_kind kind = lock_kind::mutex;  // any other is the holder_store's
};

// How a hold stands in its row.
enum class standing {
    gone = 1,   // not there any more, or not live
    held = 2,   // live
    asked = 3,  // live, and its holder was asked to let go
};

class lock_store {
public:
    virtual ~lock_store() = default;

    // Grants the key if nobody has a live hold on it. MUST
    // - take a holder for dead only on positive proof: a locking read of its session row that finds
    //   it there and expired. A missing row counts as alive. A dead one's key stays closed until
    //   the lock_delay of its row has passed since;
    // - grant only rows that are a mutex's: wrong_kind otherwise, where not busy otherwise;
    // - give fence + 1 of the row as it is when it is changed, and for a new row one more than the
    //   high-water mark, in a way that excludes the reaper folding a row of this key meanwhile;
    // - refuse with session_ended when `session` is not live;
    // - grant anew where the same owner holds already and the answer had been lost: it does not;
    //   the caller asks find_grant() first.
    // Cost: a known free key 1 round trip on PostgreSQL, MariaDB and MySQL; a key never seen
    // before up to 2; refused: 1 and no write.
    virtual acquire_result try_acquire(connection& on, const acquire_request& wanted) = 0;

    // The token under which `owner` holds the key now, live or not; nothing if it does not.
    virtual std::optional<fencing_token> find_grant(
        connection& on, const key& name, const owner_id& owner
    ) = 0;

    // One level deeper, if this exact hold is still in the row and live. Answers with the new
    // count; nothing if it is not. Keeps the token.
    virtual std::optional<std::int64_t> reenter(connection& on, const hold& held) = 0;

    // One level less, or free. Never touches anybody else's hold. MAY commit asynchronously.
    // Keeps the fence. Answers not_held, too, where the last level would go and the row has a
    // ticket, so that somebody may wait: waiter_store::hand_over() then ends it.
    virtual release_outcome release(connection& on, const hold& held) = 0;

    // Frees whatever `owner` holds of this key, whatever the token, level and ticket: settles an
    // acquire whose answer was lost. Whoever waits is served by waiter_store::serve().
    virtual release_outcome release_owner(
        connection& on, const key& name, const owner_id& owner
    ) = 0;

    // The proof of promise 3, in the transaction open on `inside`: a locking read of the lock row
    // alone. True: until that transaction ends nobody can be granted the key, nor can it be forced
    // free; false: not held by this owner under this token. Reads no clock and no session row.
    virtual bool prove(connection& inside, const hold& held) = 0;

    // How these stand. Plain reads, on servers one for some hundreds of holds. Same order and size.
    virtual std::vector<standing> standings(connection& on, const std::vector<hold>& held) = 0;

    // Plain reads. list() gives held keys (live holds only) greater than `after`, at most `limit`.
    virtual std::optional<lock_info> describe(connection& on, const key& name) = 0;
    virtual std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) = 0;

    // Frees a live hold, or one whose lock_delay keeps the key closed, adds one to the fence, and
    // adds one to the notices of its session's row, so that its next heartbeat finds out. Waits for
    // proofs. Nothing where there was neither. Leaves the ticket, as release_owner() does.
    virtual std::optional<lock_info> force_release(connection& on, const key& name) = 0;

    // Makes a row that nobody uses (no owner, ticket or holders) one of another kind. False where
    // it is used; true, too, where it is of that kind already, or not there. A short transaction.
    virtual bool change_kind(connection& on, const key& name, lock_kind to) = 0;
};

}  // namespace leasehold
