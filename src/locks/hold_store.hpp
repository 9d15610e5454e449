#pragma once
// The operations on holds of mutexes: grant, prove, release, look at, take away and move them. Each
// dialect has one implementation, held to the suites in tests/conformance.
//
// Words: a *hold* is a row with an owner. It is *live* while its session is not proved dead and its
// fixed term, if any, has not passed, both by the database's clock read at the moment of the test
// and never by a snapshot or by an earlier reading. Its *metadata* is its holder's text, for
// everybody to read; its *revocations* are requests to let go. A grant starts without requests, and
// with only the metadata of its own request.
//
// Every operation MUST
// - send only durations, never instants;
// - decide by what it changed, never by reading back;
// - be one statement or one packet outside a transaction, unless its contract says otherwise;
// - write nothing, and wait for nobody, when it refuses;
// - leave no transaction open, whatever fails;
// - let leasehold::error through as the driver made it.
//
// Threads: safe; a store remembers only hints.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"
#include "leasehold/lock_kind.hpp"

namespace leasehold {

class sql_dialect;

// The row of a session that died is kept for longer, see session/reaper.cpp.
inline constexpr std::chrono::seconds max_lock_delay{60};

struct acquire_request {
    leasehold::key key;
    owner_id owner;
    session_id session;  // must be live, also when the term is fixed
    std::string node_info;
    // Set: a fixed term. The row then names no session.
    std::optional<std::chrono::microseconds> fixed_term;
    // The time after this holder's death in which nobody is granted the key; at most
    // max_lock_delay.
    std::chrono::microseconds lock_delay{0};
    std::string metadata{};  // empty: none
    // Where a waiter is told that it is its turn; empty: nowhere. The column is `bell`.
    std::string wakeup_address{};
};

enum class acquire_status { granted = 1, busy = 2, session_ended = 3, wrong_kind = 4 };

struct acquire_result {
    acquire_status status = acquire_status::busy;
    fencing_token token;                // where granted
    std::optional<lock_info> holder;    // where busy, if one is live when it is read
    lock_kind kind = lock_kind::mutex;  // where wrong_kind: the kind of the row
};

struct hold {
    leasehold::key key;
    owner_id owner;
    fencing_token token;
    lock_kind kind = lock_kind::mutex;  // any other is the holder_store's
    bool operator==(const hold&) const = default;
};

// The state of a hold.
enum class standing {
    gone = 1,   // removed, or not live
    held = 2,   // live
    asked = 3,  // live, and its holder was asked to let go
};

// A lock row, and its holder's metadata.
struct described_hold {
    lock_info info;
    std::optional<std::string> metadata;  // as in `info`, but nullopt and empty differ
};

struct adoption {
    leasehold::hold hold;
    // The session the hold must live with until now; nullopt: it must be held for a fixed term.
    std::optional<session_id> from;
    session_id to;  // must be live
    std::string node_info;
};

enum class adopt_status { adopted = 1, gone = 2, session_ended = 3 };

enum class pending_entry {
    beside = 1,  // the grant is made, and committed, on another connection
    inside = 2,  // one writer: it is made in the caller's transaction
    busy = 3,    // one writer, and it is somebody else
};

class hold_store {
public:
    virtual ~hold_store() = default;
    static std::unique_ptr<hold_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Grants the key if nobody has a live hold on it. MUST
    // - take a holder for dead only on positive proof: a locking read finds its session row, and
    //   finds it expired. A missing row counts as alive. The key of a dead holder stays closed
    //   until the lock_delay of the lock row has passed since;
    // - grant only rows of mutexes; answer wrong_kind for other rows, or busy if they are busy;
    // - give fence + 1 of the row as it is when it is changed, and for a new row one more than the
    //   high-water mark, in a way that excludes the reaper folding a row of this key meanwhile;
    // - refuse with session_ended when `session` is not live;
    // An owner that holds the key already, because an answer was lost, is not granted it anew: the
    // caller asks find_grants() first.
    // Cost on PostgreSQL, MariaDB and MySQL: a known free key 1 round trip, 2 if it was refused
    // last time; a key never seen before up to 3, and up to 2 if keys are mostly new; refused:
    // no write, and 1 if it was refused last time, otherwise 2; of a dead holder up to 3.
    virtual acquire_result try_acquire(connection& on, const acquire_request& wanted) = 0;
    // Grants several requests of any sessions, each as try_acquire() would, in one statement and
    // one commit, with tokens in the order of the requests. An empty entry says nothing about its
    // request, which the caller then sends alone. MUST not grant two of them one key, and MUST not
    // wait for longer than a commit takes, above all not for a proof. MAY grant none.
    virtual std::vector<std::optional<fencing_token>> try_acquire_several(
        connection&, const std::vector<const acquire_request*>& wanted
    ) {
        return std::vector<std::optional<fencing_token>>(wanted.size());
    }
    // For tests: from here on the store never sends a small statement first, only the whole one.
    virtual void suppress_small_statements() noexcept {}

    // The tokens under which `owner` holds these keys now, live or not, in the order of the keys'
    // names, as `keys` are; nullopt if `owner` does not hold them all.
    virtual std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) = 0;
    std::optional<fencing_token> find_grant(
        connection& on, const key& name, const owner_id& owner
    ) {
        const auto found = find_grants(on, {name}, owner);
        return found ? std::optional{found->at(0)} : std::nullopt;
    }

    // Adds a level if this exact hold is still in the row and live. Answers with the new count, or
    // nullopt if it is not. Keeps the token.
    virtual std::optional<std::int64_t> reenter(connection& on, const hold& held) = 0;

    // Takes a level away; the last one frees the key. Never touches anybody else's hold. MAY commit
    // asynchronously. Keeps the fence. Answers not_held, too, if this is the last level and the row
    // has a ticket, so that somebody may wait: waiter_store::hand_over() then ends the hold.
    virtual release_outcome release(connection& on, const hold& held) = 0;

    // As release(), for the last level. MAY answer not_held, too, if the row is locked or has other
    // levels: waiter_store::hand_over() then ends the hold.
    virtual release_outcome release_last(connection& on, const hold& held) {
        return release(on, held);
    }

    // Releases several holds of any owners that have one level each: true for each key that is free
    // now. After false the hold may or may not exist: the caller releases it alone. The MUST and
    // MAY of try_acquire_several() apply.
    virtual std::vector<bool> release_several(connection&, const std::vector<const hold*>& held) {
        return std::vector<bool>(held.size());
    }

    // Frees the key if `owner` holds it, under any token, level and ticket. This settles an acquire
    // whose answer was lost. waiter_store::serve() serves the waiters.
    virtual release_outcome release_owner(
        connection& on, const key& name, const owner_id& owner
    ) = 0;

    // The proof of promise 3, in the transaction open on `inside`: a locking read of the lock row
    // alone. True: until that transaction ends nobody can be granted the key, nor can it be forced
    // free; false: not held by this owner under this token. Reads no clock and no session row. In a
    // cluster with several nodes that are written to it MUST change the row, so that the commit of
    // one of the two is refused, and false may mean that this node has not heard of the grant yet.
    virtual bool prove(connection& inside, const hold& held) = 0;

    // The states of these holds, in their order. Plain reads, on servers one for some hundreds.
    virtual std::vector<standing> standings(connection& on, const std::vector<hold>& held) = 0;

    // Plain reads, each of one snapshot. describe() answers also if the row is not held, and
    // counts waiters only if asked to, since that reads the queue. list() gives held keys (live
    // holds only) greater than `after`, at most `limit`.
    virtual std::optional<described_hold> describe(
        connection& on, const key& name, bool counts_waiters
    ) = 0;
    virtual std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) = 0;

    // The keys of any kind that list() leaves out because nobody holds them, and that nothing has
    // arrived at: the token and the name of the last grant, and free_for. In pages as list().
    virtual std::vector<lock_info> list_free(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) = 0;

    // The open transaction that keeps the row of this key locked; nullopt if there is none. MUST
    // wait for no row. If the server hides facts from this user that is no error: the answer leaves
    // them out, and names the right that would show them.
    virtual std::optional<row_lock_info> find_row_lock(connection& on, const key& name) = 0;
    // The server's refusal that may hide such a transaction from find_row_lock().
    virtual std::optional<error> why_row_lock_is_unknown(connection&, const key&) {
        return std::nullopt;
    }
    // Keys of holds that are not live any more and that nobody has cleaned up, as list().
    virtual std::vector<std::string> list_passed(
        connection& on, std::string_view prefix, int limit
    ) = 0;

    // Frees a live hold, or one whose lock_delay keeps the key closed, adds one to the fence, and
    // adds one to the notices of its session's row, so that its next heartbeat finds out. Waits for
    // proofs. nullopt if there is no such hold. Leaves the ticket, as release_owner() does.
    // With `only` it MUST free only the hold under that token, and tests that on the row as it is
    // when it is changed.
    virtual std::optional<lock_info> force_release(
        connection& on, const key& name, std::optional<fencing_token> only
    ) = 0;

    // Changes the kind of a row that nobody uses (no owner, ticket or holders). False if the row is
    // used; true, too, if it is of that kind already, or missing. A short transaction.
    virtual bool change_kind(connection& on, const key& name, lock_kind to) = 0;

    // ---- while the key is held

    // Replaces the metadata of exactly this hold, at most 4,000 bytes of UTF-8; nullopt removes it.
    // Answers false, and writes nothing, if this hold is over. Waits for proofs.
    virtual bool set_metadata(
        connection& on, const hold& held, const std::optional<std::string>& metadata
    ) = 0;

    // Counts a request to let go on a live hold and adds one to the notices of its session's row,
    // so that its next heartbeat finds out by standings(). Frees nothing. Waits for proofs. Answers
    // with the hold; if there is none it answers nullopt and writes nothing.
    virtual std::optional<lock_info> request_revoke(connection& on, const key& name) = 0;

    // A live hold that lives with its session lives for a fixed term from here on, counted by the
    // database's clock from the moment of the change. False if it is not held, or not live.
    // Keeps owner, fence and level. Commits durably. Waits for proofs.
    virtual bool give_term(
        connection& on, const hold& held, std::chrono::microseconds fixed_term
    ) = 0;

    // Gives a live hold for a fixed term this term from the moment of the change, also if it then
    // ends sooner. False if it is not held for a fixed term, or not live. Otherwise as give_term().
    virtual bool extend_term(
        connection& on, const hold& held, std::chrono::microseconds fixed_term
    ) = 0;

    // Moves a live hold, under its owner and fence, to another session. MUST compare the session it
    // comes from in the statement that changes it, so that of two adopters one is refused; MUST
    // answer `adopted` again if it lives with `to` already, since an answer may be lost. Commits
    // durably. Waits for proofs.
    virtual adopt_status adopt(connection& on, const adoption& wanted) = 0;

    // ---- for a grant that holds only if the caller's transaction commits: pending_lease.hpp.
    // try_acquire() alone makes the grant. In the caller's transaction the two functions below may
    // not commit, roll back, change a setting, or, on PostgreSQL, raise an error because of others.

    // The caller calls this before it changes anything. Throws wrong_transaction if the level of
    // isolation is unsafe: there the transaction may from here on read data that are older than the
    // writes of the key's last holder. On PostgreSQL it also throws any error that the move would
    // raise, because that would abort the transaction.
    virtual pending_entry enter(connection& inside) = 0;

    // Moves exactly this hold to another owner, in the transaction open on `inside`, which undoes
    // the move when it rolls back. Fence, session, term and level stay. False: not in the row, or
    // locked at this moment. From then on any change of the row by others waits for the transaction
    // to end, and MUST see what it left.
    virtual bool move(connection& inside, const hold& held, const owner_id& to) = 0;
};

}  // namespace leasehold
