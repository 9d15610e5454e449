#pragma once
// Keeps late writers away from data in a database of its own, which holds no locks.
//
//   leasehold::fence_guard guard{stock};               // the other database
//   leasehold::transaction tx = stock.begin();
//   guard.admit_in(tx, "shelf/12", lease->token());  // throws lease_lost: a later one was here
//   tx.execute("UPDATE shelf SET …");
//   tx.commit();
//
// Where lock and data are in one database use lease.verify_in(tx): it is stronger, and needs no
// fence_guard. If they are in two, the database with the data has to remember the highest token
// that it was shown.
//
// | the highest token seen of the resource is … | admit_in()                                |
// |---------------------------------------------|----------------------------------------|
// | none yet, or lower                          | passes; is the highest once it commits |
// | the same                                    | passes                                 |
// | higher                                      | throws lease_lost: roll back           |
//
// Promises: if two transactions are admitted for a resource, the one that commits later does not
// have the lower token. Writers of one resource wait for each other from admit_in() to commit.
// Does not promise: that the holder still holds when it commits. A deposed holder can write until
// the next holder has first been admitted: the next holder should be admitted before all else.
//
// Tokens are compared within one key of one lock database: guard a resource with one key.
// The table is one of leasehold's own (`leasehold migrate`, in the other database).
//
// Threads: safe. Errors: lease_lost; wrong_transaction if no transaction is open; otherwise the
// database's error, `transient` if its isolation level refuses the write because of a concurrent
// writer.
// After Kleppmann, "How to do distributed locking" (2016), and Chubby's CheckSequencer.
#include <optional>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"

namespace leasehold {

class LEASEHOLD_EXPORT fence_guard {
public:
    // `guarded` is the database that has the data.
    explicit fence_guard(database guarded) : guarded_(std::move(guarded)) {}

    // Takes part in the caller's transaction on that database, best as its first statement.
    void admit_in(transaction_ref tx, const key& resource, fencing_token token) const;

    // The highest token committed so far; nullopt if there was none. A plain read.
    std::optional<fencing_token> highest(const key& resource) const;

private:
    database guarded_;
};

}  // namespace leasehold
