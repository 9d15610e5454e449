#include "driver/postgres_classify.hpp"

#include <algorithm>
#include <array>

namespace leasehold {
namespace {

struct sqlstate_meaning {
    std::string_view prefix;  // a whole SQLSTATE, or the two characters of its class
    errc code;
};

// Longer prefixes first: a condition that means something else than its class comes before it.
// Source: "PostgreSQL Error Codes", appendix A of its manual.
constexpr std::array sqlstate_meanings{
    sqlstate_meaning{"08001", errc::connection_failed},  // could not establish
    sqlstate_meaning{"08004", errc::connection_failed},  // rejected
    sqlstate_meaning{"25006", errc::read_only},  // read-only transaction, a standby among others
    sqlstate_meaning{"25P03", errc::connection_lost},  // idle in a transaction for too long: FATAL
    sqlstate_meaning{"25P04", errc::connection_lost},  // a transaction for too long: FATAL
    sqlstate_meaning{"40002", errc::constraint},       // integrity constraint, found at commit
    sqlstate_meaning{"40003", errc::connection_lost},  // "statement completion unknown"
    sqlstate_meaning{"42501", errc::permission_denied},
    sqlstate_meaning{"42703", errc::schema_mismatch},    // undefined column
    sqlstate_meaning{"42P01", errc::schema_missing},     // undefined table
    sqlstate_meaning{"3D000", errc::connection_failed},  // no such database
    sqlstate_meaning{"3F000", errc::schema_missing},     // no such schema
    sqlstate_meaning{"53300", errc::connection_failed},  // too many connections
    sqlstate_meaning{"55P03", errc::transient},          // lock not available
    sqlstate_meaning{"57014", errc::timed_out},  // cancelled, by statement_timeout or by hand
    sqlstate_meaning{
        "57P01", errc::connection_lost},  // shut down or terminated by an administrator
    sqlstate_meaning{"57P02", errc::connection_lost},    // another process of the server crashed
    sqlstate_meaning{"57P03", errc::connection_failed},  // starting up or shutting down
    sqlstate_meaning{"57P04", errc::connection_lost},    // the database was dropped
    sqlstate_meaning{"57P05", errc::connection_lost},    // idle for too long
    sqlstate_meaning{"72000", errc::transient},          // snapshot too old
    sqlstate_meaning{"08", errc::connection_lost},
    sqlstate_meaning{"0A", errc::unsupported},
    sqlstate_meaning{"23", errc::constraint},
    sqlstate_meaning{"25", errc::wrong_transaction},
    sqlstate_meaning{"28", errc::connection_failed},  // password, or not allowed in at all
    sqlstate_meaning{"2D", errc::wrong_transaction},  // COMMIT or ROLLBACK if there can be none
    sqlstate_meaning{"40", errc::transient},          // serialization failure, deadlock
    sqlstate_meaning{"44", errc::constraint},         // WITH CHECK OPTION of a view
};

}  // namespace

errc classify_postgres(std::string_view sqlstate) noexcept {
    if (sqlstate.empty()) return errc::connection_lost;
    const auto begins = [&](std::string_view prefix) { return sqlstate.starts_with(prefix); };
    const auto found = std::ranges::find_if(sqlstate_meanings, begins, &sqlstate_meaning::prefix);
    return found == sqlstate_meanings.end() ? errc::database_error : found->code;
}

// Not among them: passwords and rights (28), an unknown database (3D000) or a dropped one (57P04),
// one that takes no connections (55000), another protocol (0A000), a damaged server (58, XX).
bool may_connect_later_postgres(std::string_view sqlstate) noexcept {
    constexpr std::array<std::string_view, 7> later{
        "08",     // the network, and every complaint of pgbouncer: "cannot connect to server",
                  // "no more connections allowed", "server login has been failing"
        "53",     // connections, memory or descriptors are used up
        "57014",  // authentication_timeout: a server too busy to let us in
        "57P01",  // shut down, or terminated by an administrator
        "57P02",  // another process of the server crashed
        "57P03",  // starting up or shutting down; a standby that takes no connections yet
        "57P05",  // a pooler's connection that was idle for too long
    };
    const auto begins = [&](std::string_view each) { return sqlstate.starts_with(each); };
    return sqlstate.empty() || std::ranges::any_of(later, begins);
}

bool is_exhausted_postgres(std::string_view sqlstate) noexcept {
    return sqlstate.starts_with("53");  // insufficient resources
}

}  // namespace leasehold
