#include "leasehold/driver/soci.hpp"

#include <soci/soci.h>

#include <string>

#include "leasehold/error.hpp"

// Which engines are here is decided when leasehold is built: LEASEHOLD_SOCI_<ENGINE> is 0 or 1.
#if LEASEHOLD_SOCI_POSTGRES
#include <soci/postgresql/soci-postgresql.h>

#include "leasehold/driver/postgres.hpp"
#endif
#if LEASEHOLD_SOCI_MYSQL
#include <soci/mysql/soci-mysql.h>

#include "driver/soci_mysql.hpp"
#endif
#if LEASEHOLD_SOCI_SQLITE
// Declares sqlite3 once more, inside of a namespace: sqlite3.h itself must not be included here.
#include <soci/sqlite3/soci-sqlite3.h>

#include "leasehold/driver/sqlite.hpp"
#endif

namespace leasehold {
namespace {

using soci::details::session_backend;

// The adapter uses the native handle and not statements of SOCI: our placeholders are the engine's
// own, while SOCI reads `:name`, also if PostgreSQL means a cast; and values of types that are
// only known at run time, bytes among them, have no common way through SOCI's bindings. The handle
// is in the same transaction, and SOCI's own state stays untouched.
//
// Finds the backend's type by its name, because SOCI 4.0 hides the types of its backends from
// dynamic_cast.
borrowed_connection borrow_from(session_backend& backend) {
    const std::string name = backend.get_backend_name();
    const char* missing = nullptr;  // the switch that would make it work, if there is one
    if (name == "postgresql") {
#if LEASEHOLD_SOCI_POSTGRES
        return borrow(static_cast<soci::postgresql_session_backend&>(backend).conn_);
#endif
        missing = "LEASEHOLD_POSTGRES";
    }
    if (name == "mysql") {
#if LEASEHOLD_SOCI_MYSQL
        return borrowed_connection{
            mysql::adapt(static_cast<soci::mysql_session_backend&>(backend).conn_)};
#endif
        missing = "LEASEHOLD_MYSQL";
    }
    if (name == "sqlite3") {
#if LEASEHOLD_SOCI_SQLITE
        return borrow(
            reinterpret_cast<sqlite3*>(static_cast<soci::sqlite3_session_backend&>(backend).conn_)
        );
#endif
        missing = "LEASEHOLD_SQLITE";
    }
    if (missing != nullptr) {
        throw error{
            errc::unsupported,
            "a SOCI session of backend " + name + " cannot be borrowed: leasehold was built " +
                "without that driver; build it with " + missing +
                "=ON, and with that driver in LEASEHOLD_SOCI_DRIVERS where it is set"};
    }
    throw error{
        errc::unsupported,
        "a SOCI session of backend " + name +
            " cannot be borrowed; the backends postgresql, mysql and sqlite3 can"};
}

}  // namespace

borrowed_connection borrow(soci::session& lent) {
    session_backend* const backend = lent.get_backend();
    if (backend == nullptr) {
        throw error{
            errc::connection_lost, "the SOCI session to borrow is not connected; open it first"};
    }
    return borrow_from(*backend);
}

}  // namespace leasehold
