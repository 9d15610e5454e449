#pragma once
// SOCI sessions (4.0 or newer; backends postgresql, mysql and sqlite3) lent by the caller.
//
//   soci::transaction tr{sql};
//   sql << "update invoice set closed = 1 where month = :m", soci::use(month);
//   lease->verify_in(leasehold::borrow(sql));
//   tr.commit();
//
// Errors: unsupported for any other backend. Threads: the session's own rule, one at a time.
#include "leasehold/database.hpp"
#include "leasehold/export.hpp"

namespace soci {
class session;
}

namespace leasehold {

// Takes part in a transaction of the caller's session, and changes no setting of it. It refuses the
// settings that borrow() of driver/postgres.hpp and driver/mysql.hpp refuses.
LEASEHOLD_EXPORT borrowed_connection borrow(soci::session& lent);

}  // namespace leasehold
