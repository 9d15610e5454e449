#include "core/classify.hpp"

#include <algorithm>
#include <array>

namespace leasehold {
namespace {

struct meaning {
    std::string_view prefix;  // a whole SQLSTATE, or the two characters of its class
    errc code;
};

// Longer prefixes first: a condition that means something else than its class comes before it.
// Source: "PostgreSQL Error Codes", appendix A of its manual.
constexpr std::array meanings{
    meaning{"08001", errc::connection_failed},  // could not establish
    meaning{"08004", errc::connection_failed},  // rejected
    meaning{"25006", errc::read_only},          // read-only transaction, a standby among others
    meaning{"25P03", errc::connection_lost},    // idle in a transaction for too long: FATAL
    meaning{"25P04", errc::connection_lost},    // a transaction for too long: FATAL
    meaning{"40002", errc::constraint},         // integrity constraint, found at commit
    meaning{"40003", errc::connection_lost},    // "statement completion unknown"
    meaning{"42501", errc::permission_denied},
    meaning{"42703", errc::schema_mismatch},    // undefined column
    meaning{"42P01", errc::schema_missing},     // undefined table
    meaning{"3D000", errc::connection_failed},  // no such database
    meaning{"3F000", errc::schema_missing},     // no such schema
    meaning{"53300", errc::connection_failed},  // too many connections
    meaning{"55P03", errc::transient},          // lock not available
    meaning{"57014", errc::timed_out},          // cancelled, by statement_timeout or by hand
    meaning{"57P01", errc::connection_lost},    // shut down or terminated by an administrator
    meaning{"57P02", errc::connection_lost},    // another process of the server crashed
    meaning{"57P03", errc::connection_failed},  // starting up or shutting down
    meaning{"57P04", errc::connection_lost},    // the database was dropped
    meaning{"57P05", errc::connection_lost},    // idle for too long
    meaning{"72000", errc::transient},          // snapshot too old
    meaning{"08", errc::connection_lost},
    meaning{"0A", errc::unsupported},
    meaning{"23", errc::constraint},
    meaning{"25", errc::wrong_transaction},
    meaning{"28", errc::connection_failed},  // password, or not allowed in at all
    meaning{"2D", errc::wrong_transaction},  // COMMIT or ROLLBACK where there can be none
    meaning{"40", errc::transient},          // serialization failure, deadlock
    meaning{"44", errc::constraint},         // WITH CHECK OPTION of a view
};

}  // namespace

errc classify_postgres(std::string_view sqlstate) noexcept {
    if (sqlstate.empty()) return errc::connection_lost;
    const auto found = std::find_if(meanings.begin(), meanings.end(), [&](const meaning& each) {
        return sqlstate.substr(0, each.prefix.size()) == each.prefix;
    });
    return found == meanings.end() ? errc::database_error : found->code;
}

}  // namespace leasehold
