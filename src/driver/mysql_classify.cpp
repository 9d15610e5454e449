#include "driver/mysql_classify.hpp"

#include <algorithm>
#include <array>

namespace leasehold {
namespace {

struct meaning {
    int native_code;
    errc code;
};

// In ascending order, which is checked below. Numbers from 1000 are the server's and the same on
// both if both have them ("Server Error Message Reference" of MySQL's manual, "MariaDB Error
// Codes"); those from 1900 to 1999 and 4000 are MariaDB's unless said otherwise; those from 2000
// are of the client libraries. They are written out because the client libraries' headers have
// those of one server only, and of their own version.
constexpr std::array meanings{
    meaning{1020, errc::transient},          // CHECKREAD: innodb_snapshot_isolation, rolled back
    meaning{1022, errc::constraint},         // DUP_KEY
    meaning{1036, errc::read_only},          // OPEN_AS_READONLY: this table
    meaning{1040, errc::connection_failed},  // CON_COUNT_ERROR: too many connections
    meaning{1041, errc::connection_failed},  // OUT_OF_RESOURCES
    meaning{1042, errc::connection_failed},  // BAD_HOST_ERROR
    meaning{1043, errc::connection_failed},  // HANDSHAKE_ERROR
    meaning{1044, errc::permission_denied},  // DBACCESS_DENIED
    meaning{1045, errc::connection_failed},  // ACCESS_DENIED: wrong password
    meaning{1047, errc::transient},          // a Galera node that is not ready for statements
    meaning{1048, errc::constraint},         // BAD_NULL
    meaning{1049, errc::connection_failed},  // BAD_DB: no such database
    meaning{1053, errc::connection_lost},    // SERVER_SHUTDOWN
    meaning{1054, errc::schema_mismatch},    // BAD_FIELD: no such column
    meaning{1062, errc::constraint},         // DUP_ENTRY
    meaning{1077, errc::connection_lost},    // NORMAL_SHUTDOWN
    meaning{1078, errc::connection_lost},    // GOT_SIGNAL
    meaning{1079, errc::connection_lost},    // SHUTDOWN_COMPLETE
    meaning{1080, errc::connection_lost},    // FORCING_CLOSE
    meaning{1129, errc::connection_failed},  // HOST_IS_BLOCKED
    meaning{1130, errc::connection_failed},  // HOST_NOT_PRIVILEGED
    meaning{1135, errc::connection_failed},  // CANT_CREATE_THREAD
    meaning{1142, errc::permission_denied},  // TABLEACCESS_DENIED
    meaning{1143, errc::permission_denied},  // COLUMNACCESS_DENIED
    meaning{1146, errc::schema_missing},     // NO_SUCH_TABLE
    meaning{1152, errc::connection_lost},    // ABORTING_CONNECTION
    meaning{1156, errc::connection_lost},    // NET_PACKETS_OUT_OF_ORDER
    meaning{1158, errc::connection_lost},    // NET_READ
    meaning{1159, errc::connection_lost},    // NET_READ_INTERRUPTED
    meaning{1160, errc::connection_lost},    // NET_ERROR_ON_WRITE
    meaning{1161, errc::connection_lost},    // NET_WRITE_INTERRUPTED
    meaning{1169, errc::constraint},         // DUP_UNIQUE
    meaning{1184, errc::connection_lost},    // NEW_ABORTING_CONNECTION
    meaning{1203, errc::connection_failed},  // TOO_MANY_USER_CONNECTIONS
    meaning{1205, errc::transient},          // LOCK_WAIT_TIMEOUT: the statement alone rolled back
    meaning{1206, errc::transient},          // LOCK_TABLE_FULL
    meaning{1213, errc::transient},          // LOCK_DEADLOCK: the transaction rolled back
    meaning{1216, errc::constraint},         // NO_REFERENCED_ROW
    meaning{1217, errc::constraint},         // ROW_IS_REFERENCED
    meaning{1223, errc::read_only},          // CANT_UPDATE_WITH_READLOCK
    meaning{1226, errc::connection_failed},  // USER_LIMIT_REACHED
    meaning{1227, errc::permission_denied},  // SPECIFIC_ACCESS_DENIED
    meaning{1235, errc::unsupported},        // NOT_SUPPORTED_YET
    meaning{1251, errc::connection_failed},  // NOT_SUPPORTED_AUTH_MODE
    meaning{1290, errc::read_only},          // OPTION_PREVENTS_STATEMENT: read_only as a rule
    meaning{1317, errc::timed_out},          // QUERY_INTERRUPTED: KILL QUERY, see below
    meaning{1364, errc::constraint},         // NO_DEFAULT_FOR_FIELD
    meaning{1370, errc::permission_denied},  // PROCACCESS_DENIED
    meaning{1412, errc::transient},          // TABLE_DEF_CHANGED: "please retry transaction"
    meaning{1419, errc::permission_denied},  // BINLOG_CREATE_ROUTINE_NEED_SUPER
    meaning{1451, errc::constraint},         // ROW_IS_REFERENCED_2
    meaning{1452, errc::constraint},         // NO_REFERENCED_ROW_2
    meaning{1557, errc::constraint},         // FOREIGN_DUPLICATE_KEY
    meaning{1586, errc::constraint},         // DUP_ENTRY_WITH_KEY_NAME
    meaning{1614, errc::transient},          // XA_RBDEADLOCK
    meaning{1637, errc::transient},          // TOO_MANY_CONCURRENT_TRXS
    meaning{1665, errc::unsupported},        // binlog_format=STATEMENT and READ COMMITTED
    meaning{1698, errc::connection_failed},  // ACCESS_DENIED_NO_PASSWORD
    meaning{1761, errc::constraint},         // FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO
    meaning{1762, errc::constraint},         // FOREIGN_DUPLICATE_KEY_WITHOUT_CHILD_INFO
    meaning{1792, errc::read_only},          // CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
    meaning{1820, errc::connection_failed},  // MUST_CHANGE_PASSWORD
    meaning{1836, errc::read_only},          // READ_ONLY_MODE
    meaning{1862, errc::connection_failed},  // MUST_CHANGE_PASSWORD_LOGIN
    meaning{1874, errc::read_only},          // INNODB_READ_ONLY
    meaning{1927, errc::connection_lost},    // CONNECTION_KILLED
    meaning{1932, errc::schema_missing},     // NO_SUCH_TABLE_IN_ENGINE
    meaning{1969, errc::timed_out},          // STATEMENT_TIMEOUT: max_statement_time, see below
    meaning{2002, errc::connection_failed},  // CONNECTION_ERROR
    meaning{2003, errc::connection_failed},  // CONN_HOST_ERROR
    meaning{2005, errc::connection_failed},  // UNKNOWN_HOST
    meaning{2006, errc::connection_lost},    // SERVER_GONE_ERROR
    meaning{2007, errc::connection_failed},  // VERSION_ERROR
    meaning{2012, errc::connection_failed},  // SERVER_HANDSHAKE_ERR
    meaning{2013, errc::connection_lost},    // SERVER_LOST, also after our own read time-out
    meaning{2026, errc::connection_lost},    // SSL_CONNECTION_ERROR: libmariadb's 2013 under TLS
    meaning{2027, errc::connection_lost},    // MALFORMED_PACKET
    meaning{2055, errc::connection_lost},    // SERVER_LOST_EXTENDED
    meaning{2058, errc::connection_failed},  // PLUGIN_NOT_ALLOWED, AUTH_PLUGIN_CANNOT_LOAD
    meaning{2059, errc::connection_failed},  // AUTH_PLUGIN_CANNOT_LOAD
    meaning{2061, errc::connection_failed},  // AUTH_PLUGIN_ERR
    meaning{3024, errc::timed_out},          // QUERY_TIMEOUT: max_execution_time of MySQL
    meaning{3032, errc::connection_failed},  // SERVER_OFFLINE_MODE
    meaning{3058, errc::transient},          // USER_LOCK_DEADLOCK
    meaning{3101, errc::transient},          // TRANSACTION_ROLLBACK_DURING_COMMIT
    meaning{3118, errc::connection_failed},  // ACCOUNT_HAS_BEEN_LOCKED
    meaning{3159, errc::connection_failed},  // SECURE_TRANSPORT_REQUIRED
    meaning{3168, errc::connection_failed},  // SERVER_ISNT_AVAILABLE
    meaning{3169, errc::connection_lost},    // SESSION_WAS_KILLED
    meaning{3572, errc::transient},          // LOCK_NOWAIT of MySQL; MariaDB says 1205
    meaning{3796, errc::transient},        // GRP_TRX_CONSISTENCY_NOT_ALLOWED: it is joining, or out
    meaning{3797, errc::transient},        // GRP_TRX_CONSISTENCY_BEFORE: that wait failed
    meaning{3819, errc::constraint},       // CHECK_CONSTRAINT_VIOLATED of MySQL
    meaning{3989, errc::read_only},        // SCHEMA_READ_ONLY
    meaning{4025, errc::constraint},       // CONSTRAINT_FAILED: CHECK of MariaDB
    meaning{4031, errc::connection_lost},  // CLIENT_INTERACTION_TIMEOUT of MySQL: idle too long
    meaning{4151, errc::connection_failed},  // ACCOUNT_HAS_BEEN_LOCKED of MariaDB
    meaning{5010, errc::connection_failed},  // of libmariadb: a way to log in that is not allowed
    meaning{5013, errc::connection_lost},    // ERR_NET_READ of libmariadb
    meaning{5014, errc::connection_lost},    // ERR_NET_WRITE
    meaning{5026, errc::connection_lost},    // ERR_MISSING_ERROR_INFO: an error cut short
    meaning{9001, errc::transient},          // ProxySQL: no server took the statement in time
};

// A statement that the server stopped (1317, 1969) is "timed out" and so of unknown outcome, not
// "transient": neither manual says that an order to stop which comes when the commit is done is
// never answered with the error. It was not seen (0 of 1,300 interrupted inserts had been
// committed), but asking costs one statement and being wrong costs a lease.

static_assert(std::ranges::is_sorted(meanings, {}, &meaning::native_code));

// As "(errno: 28 - No space left on device)", "(Errcode: 28 "No space ...")", "error 28 ".
bool tell_of(std::string_view words, std::string_view number) noexcept {
    for (auto at = words.find(number); at != std::string_view::npos;
         at = words.find(number, at + 1)) {
        const auto behind = at + number.size();
        const bool begins = at > 0 && words[at - 1] == ' ';
        const bool ends = behind == words.size() || words[behind] < '0' || words[behind] > '9';
        if (begins && ends) return true;
    }
    return false;
}

}  // namespace

errc classify_mysql(int native_code) noexcept {
    const auto found = std::ranges::lower_bound(meanings, native_code, {}, &meaning::native_code);
    const bool is_known = found != meanings.end() && found->native_code == native_code;
    return is_known ? found->code : errc::database_error;
}

bool is_exhausted_mysql(int native_code, std::string_view words) noexcept {
    switch (native_code) {
        case 1021:  // DISK_FULL
        case 1037:  // OUTOFMEMORY
        case 1038:  // OUT_OF_SORTMEMORY
        case 1041:  // OUT_OF_RESOURCES
        case 1114:  // RECORD_FILE_FULL: a table or its tablespace cannot grow
        case 3675:  // CREATE_TABLESPACE: the disk is full
            return true;
        case 3:                           // EE_WRITE: a file of the server, such as one for sorting
        case 1026:                        // ERROR_ON_WRITE
        case 1030:                        // GET_ERRNO: of a storage engine
        case 1180:                        // ERROR_DURING_COMMIT
            return tell_of(words, "28");  // ENOSPC
        default:
            return false;
    }
}

bool is_under_repair_mysql(int native_code, std::string_view words) noexcept {
    switch (native_code) {
        case 1034:  // NOT_KEYFILE: "try to repair it"
        case 1035:  // OLD_KEYFILE: "repair it"
        case 1194:  // CRASHED_ON_USAGE
        case 1195:  // CRASHED_ON_REPAIR
            return true;
        case 1015:  // CANT_LOCK
        case 1016:  // CANT_OPEN_FILE
        case 1030:  // GET_ERRNO: of a storage engine
            // HA_ERR_CRASHED, _ON_REPAIR, _ON_USAGE
            return tell_of(words, "126") || tell_of(words, "144") || tell_of(words, "145");
        default:
            return false;
    }
}

// MySQL names "--read-only", "--super-read-only"; MariaDB also "--read_only". Other options of this
// number, as --secure-file-priv, --skip-grant-tables and --rocksdb, stay.
bool is_standby_mysql(int native_code, std::string_view words) noexcept {
    constexpr int option_prevents = 1290, read_only_mode = 1836;
    const bool names_option = words.find("read-only") != std::string_view::npos ||
                              words.find("read_only") != std::string_view::npos;
    return native_code == read_only_mode || (native_code == option_prevents && names_option);
}

}  // namespace leasehold
