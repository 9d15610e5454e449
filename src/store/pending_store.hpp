#pragma once
// What any database must be able to do for a grant that stands or falls with a transaction of the
// caller's. The words and the general MUSTs: lock_store.hpp; how it is used: pending_lease.hpp.
//
// The grant itself is lock_store::try_acquire and nothing else.
//
// In the caller's transaction nothing here may commit, roll back, change a setting, or, on
// PostgreSQL, raise an error because of others.
#include "leasehold/connection.hpp"
#include "store/lock_store.hpp"

namespace leasehold {

enum class pending_entry {
    beside = 1,  // the grant is made, and committed, on another connection
    inside = 2,  // one writer: it is made in the caller's transaction
    busy = 3,    // one writer, and it is somebody else
};

class pending_store {
public:
    virtual ~pending_store() = default;

    // Before anything is changed. Throws wrong_transaction where the level of isolation makes it
    // unsafe, that is where what the transaction reads from here on may be older than what the
    // key's last holder wrote; and, on PostgreSQL, whatever would make the move fail, because that
    // would abort the transaction.
    virtual pending_entry enter(connection& inside) = 0;

    // Moves exactly this hold to another owner, in the transaction open on `inside`: it is undone
    // with it. Fence, session, term and level stay. False: not in the row, or locked at this
    // moment. From then on whoever wants to change the row waits for the transaction to end, and
    // MUST see what it left.
    virtual bool move(connection& inside, const hold& held, const owner_id& to) = 0;
};

}  // namespace leasehold
