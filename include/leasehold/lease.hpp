#pragma once
// Proof of holding one key.
//
//   if (leasehold::acquisition got = closing.try_acquire()) {
//       tx.execute("UPDATE invoice SET closed = true WHERE month = $1", {month});
//       got->verify_in(tx);  // throws lease_lost: nothing was written
//       tx.commit();
//   }                        // released
//
// | state    | lost()   | verify_in(tx)      | release()  | becomes                             |
// |----------|----------|--------------------|------------|-------------------------------------|
// | held     | quiet    | passes             | released   | lost by deadline, force or take-over |
// | expired  | quiet    | throws lease_lost  | see below  | lost, when that is found out         |
// | lost     | fired    | throws lease_lost  | not_held   | –                                   |
// | spent    | fired    | throws lease_lost  | not_held   | –                                   |
//
// A lease is expired when the database counts it as over and nobody here has been told yet. Then
// release() frees the key and says `released`, unless somebody has held the key since: in that case
// it changes nothing and says not_held. It frees a lost lease of a fixed term in the same way.
//
// A lease is spent when it was released, detached, given to session::end_with(), or moved from. It
// sends nothing any more. All kinds answer alike: lease, leadership, multi_lease, pending_lease,
// quorum_lease, task_run.
//
// | a call of a spent lease                          | answers                                  |
// |--------------------------------------------------|------------------------------------------|
// | lost()                                           | a token that has fired                   |
// | why_lost()                                       | `released`: the owner gave it back       |
// | held_locally(), verify(), held_count()           | false, 0                                 |
// | deadline()                                       | time_point{}, which is in the past       |
// | revoke_requested()                               | as before; moved from: a token of nobody |
// | release(), resign(), finish(), finish_and_end()  | not_held                                 |
// | confirm()                                        | empty                                    |
// | extend(), verify_in(), proclaim(), finish_in(),  | throws lease_lost                        |
// | detach(), detach_for(), semaphore::shrink_to()   |                                          |
// | key(), token(), owner(), tick(), lease(), …      | as before; moved from: throws lease_lost |
//
// A released lease was not lost, and no event `lost` says so. why_lost() answers `released` also if
// the lease was lost before its release: ask it before.
//
// Promises: the token is greater than that of every earlier grant of the key. lost() fires before
// the database can grant the key to another, unless somebody frees it by force (inspect.hpp): then
// with the next heartbeat. If verify_in(tx) passes and tx commits, nobody else held the key at any
// moment between the two; that needs no clock at all.
// Does not promise: that the thread notices in time. Between two instructions a process can be
// paused for minutes; only verify_in, or a store that compares tokens, is safe against that.
//
// Threads: one lease, one thread at a time, but lost(), why_lost(),
// revoke_requested() and held_locally() from any.
// Errors: leasehold::error; a destructor never throws and reports to the observer instead.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"
#include "leasehold/lock_kind.hpp"
#include "leasehold/session.hpp"
#include "leasehold/try_result.hpp"

namespace leasehold {

class [[nodiscard]] LEASEHOLD_EXPORT lease {
public:
    lease(lease&&) noexcept;
    lease& operator=(lease&&) noexcept;
    // Releases before it returns, and never throws. If the database does not answer it waits for
    // one statement_timeout, and not at all if no connection could be opened last; the session then
    // goes on with the release in the background. A lease whose time has run out is given back
    // there, too, without a wait. If the session has ended, a fixed term runs out. Commit the
    // transaction that proved this lease first: a release waits for a transaction that holds the
    // proof.
    ~lease();

    // A temporary lease is given back at once. A program that asks one for a reference, or how long
    // it lives, does not compile.
    const leasehold::key& key() const&;
    const leasehold::key& key() const&& = delete;
    fencing_token token() const;
    const owner_id& owner() const&;
    const owner_id& owner() const&& = delete;

    // Fires when the lease is lost or released. The reason: why_lost(). Callbacks run one after
    // another on the thread that found out, often the session's own: one that blocks delays all
    // others, and heartbeats; one that throws ends the program, as std::stop_callback says. Set a
    // flag, signal a thread.
    std::stop_token lost() const&;
    std::stop_token lost() const&& = delete;
    loss_reason why_lost() const;
    // Fires when somebody asked the holder to let go (see request_revoke in inspect.hpp): with its
    // next heartbeat, never for a fixed term. The holder decides what to do about it.
    std::stop_token revoke_requested() const&;
    std::stop_token revoke_requested() const&& = delete;
    // Compares the local deadline alone, and sends nothing.
    bool held_locally() const&;
    bool held_locally() const&& = delete;
    local_clock::time_point deadline() const&;
    local_clock::time_point deadline() const&& = delete;

    // Gives a lease of fixed_term (or max_hold) a new term: it ends `term` from now, 1 ms to 366
    // days, even if that is sooner than before. False: the lease is lost, and lost() has fired. The
    // call for a mutex waits for transactions that hold a proof of the lease. If the call throws
    // and its outcome is unknown, deadline() is the earlier of both ends. invalid_argument for a
    // lease without a term.
    [[nodiscard]] bool extend(std::chrono::microseconds term) &;

    // Asks the database: false means lost, and lost() has fired.
    [[nodiscard]] bool verify() &;
    // Takes part in the caller's transaction, best as its last statement. Either it keeps every
    // other owner out until the transaction ends, or it throws lease_lost and the caller rolls
    // back. One statement; it blocks neither readers nor the heartbeat.
    // Any isolation level, but acquire first, then begin. At REPEATABLE READ and above a snapshot
    // may be older than the grant, and then your reads are older than the last holder's writes.
    // PostgreSQL refuses that, and the lease counts as lost. MySQL and MariaDB prove by the newest
    // row, and cannot see it.
    // At these levels the lock's row may also have changed since the snapshot, because somebody
    // began to wait or asked for revocation. PostgreSQL, and MariaDB with
    // innodb_snapshot_isolation, then end the transaction with a serialization failure, which is
    // transient. The lease is still held: run the work again in a new transaction.
    // Errors: wrong_transaction if none is open; transient as said.
    void verify_in(transaction_ref tx) &;

    // Gives the key back. Repeating it is harmless. If the database does not answer, this tries
    // again for pool_timeout. After that the session goes on trying, and this throws, or says
    // `unknown`.
    // Commit first: a transaction that has proved this lease keeps its row locked (on SQLite: any
    // that this thread has open). If database::begin() began that transaction, nothing is sent,
    // this says `unknown`, the observer is told why, and the end of the transaction releases. If
    // the transaction is on a connection of yours, this waits for it, for a statement_timeout at
    // most.
    release_outcome release();

    class implementation;  // private: src/locks/lease.hpp
    const std::shared_ptr<implementation>& inner() const { return held_; }

private:
    friend struct handle_maker;
    explicit lease(std::shared_ptr<implementation> held) noexcept;

    handle<std::shared_ptr<implementation>, "lease", refuse_spent> held_;
};

// The key of a refused try, and its holder.
class LEASEHOLD_EXPORT refused_try {
public:
    refused_try() = default;
    refused_try(std::optional<lock_info> holder, const std::string& wanted);

    const std::optional<lock_info>& holder() const noexcept;
    [[noreturn]] void refuse() const;  // throws busy

private:
    struct words;
    std::shared_ptr<const words> words_{};
};

// The base of the outcomes of tries for keys: what was granted, or the holder of the key instead.
template <class Outcome, class Granted>
class [[nodiscard]] key_result : public try_result<Outcome, Granted> {
public:
    explicit key_result(Granted granted) : try_result<Outcome, Granted>(std::move(granted)) {}
    explicit key_result(refused_try why) : refusal_(std::move(why)) {}
    key_result(std::optional<lock_info> holder, const key& wanted)
        : refusal_(std::move(holder), wanted.name()) {}

    // Empty if granted, if the holder was gone when the database looked again, or if the call does
    // not ask for the holder.
    const std::optional<lock_info>& holder() const& noexcept { return refusal_.holder(); }
    const std::optional<lock_info>& holder() const&& = delete;

    [[noreturn]] void refuse() const { refusal_.refuse(); }

private:
    refused_try refusal_{};
};

// The outcome of a try for one key.
class [[nodiscard]] acquisition : public key_result<acquisition, lease> {
public:
    using key_result::key_result;
};

}  // namespace leasehold
