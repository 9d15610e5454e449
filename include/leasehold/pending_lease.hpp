#pragma once
// A lease that stands or falls with a transaction of the caller's.
//
//   auto pending = closing.try_acquire_in(tx);  // empty: somebody else has the key
//   if (!pending) return;
//   tx.execute("INSERT INTO closing (month, token) VALUES ($1, $2)", {m, pending->token().number});
//   tx.commit();
//   if (const auto lease = pending->confirm()) publish(report, lease->token());
//
// | the transaction …                   | in the database      | confirm()                      |
// |-------------------------------------|----------------------|--------------------------------|
// | is open                             | held; others: busy   | waits for its end, then throws |
// | was committed                       | held                 | the lease                      |
// | was rolled back, by whomever        | held until confirm() | empty; the key is free         |
// | was committed, the answer was lost  | one of the two above | what it was                    |
// | and then the session was lost       | free                 | empty; a fixed term: the lease |
// | and then the key was freed by force | free, or another's   | empty                          |
//
// | state     | token(), owner() | confirm()              | destroyed                            |
// |-----------|------------------|------------------------|--------------------------------------|
// | pending   | of the grant     | settles, or throws     | the session settles it: the key is   |
// |           |                  | and may be asked again | free soon, also after a commit       |
// | settled   | the same         | empty                  | nothing                              |
// | moved from| throw lease_lost | empty                  | nothing                              |
//
// How: an ordinary try on a connection of leasehold's own gets the key, under an owner id that only
// the library knows; the caller's transaction moves that hold to another owner id. From then on the
// owner id in the row says whether the transaction was committed.
//
// Promises: if the transaction commits, nobody else held the key at any moment between the try and
// the commit, as after verify_in. The token is greater than all before and is never given again,
// also when the transaction is rolled back. Others are told "busy" at once, and neither they nor
// the reaper wait for the transaction, as long as this session is alive. In the caller's
// transaction one row is updated that nobody else changes: on PostgreSQL contention never raises an
// error in it, and no setting of it is changed.
// Does not promise: durability beyond that of the caller's commit. If a commit was not flushed
// (synchronous_commit = off) a crash of the server may undo it after confirm(): the lease is then
// lost at its next proof, and the key is held until the session ends.
//
// SQLite has one writer, so there the grant is made in the transaction itself. Others that try the
// key wait for that writer, as for any other, at most for their statement_timeout. Before the end
// of the transaction the same thread's confirm() throws wrong_transaction at once. A token of a
// transaction that was rolled back is given again: outside of the transaction only the token of a
// confirmed lease counts.
//
// Threads: one pending_lease, one thread at a time.
// Errors of confirm(): those of the database; the lease is pending still.
#include <memory>
#include <optional>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"

namespace leasehold {

class [[nodiscard]] LEASEHOLD_EXPORT pending_lease {
public:
    pending_lease(pending_lease&&) noexcept;
    pending_lease& operator=(pending_lease&&) noexcept;
    // Sends nothing and never throws, since the transaction may be open: the session settles the
    // lease in the background. A session that ends first frees the key by its end; a fixed term
    // then runs out.
    ~pending_lease();

    const leasehold::key& key() const&;
    const leasehold::key& key() const&& = delete;
    fencing_token token() const;
    // The owner id that the row has once the transaction is committed.
    const owner_id& owner() const&;
    const owner_id& owner() const&& = delete;

    // Asks the database for the outcome of the transaction, which must have ended. One read where
    // it was committed, one statement more if it was not.
    acquisition confirm();

    class implementation;  // private: src/locks/pending_lease.hpp

private:
    friend struct handle_maker;
    explicit pending_lease(std::unique_ptr<implementation> made) noexcept;

    handle<std::unique_ptr<implementation>, "pending_lease", refuse_spent> inner_;
};

// The outcome of a try in a transaction: a pending lease, or the holder of the key instead.
class [[nodiscard]] pending_acquisition : public key_result<pending_acquisition, pending_lease> {
public:
    using key_result::key_result;
};

}  // namespace leasehold
