// The meaning of SQLite's result codes: the whole table, so that a change of it is seen.
#include <gtest/gtest.h>

#include <cerrno>
#include <ostream>
#include <string>
#include <string_view>

#include "driver/sqlite_classify.hpp"
#include "driver/sqlite_errors.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

struct classified {
    int extended_code;
    errc code;
};

void PrintTo(const classified& each, std::ostream* out) {
    *out << each.extended_code << " is " << name_of(each.code);
}

class classify_sqlite_test : public ::testing::TestWithParam<classified> {};

TEST_P(classify_sqlite_test, a_code_has_its_meaning) {
    EXPECT_STREQ(name_of(classify_sqlite(GetParam().extended_code)), name_of(GetParam().code));
}

INSTANTIATE_TEST_SUITE_P(
    codes,
    classify_sqlite_test,
    ::testing::Values(
        // another writer was first
        classified{5, errc::transient},           // SQLITE_BUSY
        classified{5 | 1 << 8, errc::transient},  // SQLITE_BUSY_RECOVERY
        classified{5 | 2 << 8, errc::transient},  // SQLITE_BUSY_SNAPSHOT
        classified{5 | 3 << 8, errc::transient},  // SQLITE_BUSY_TIMEOUT
        classified{6, errc::transient},           // SQLITE_LOCKED
        classified{6 | 1 << 8, errc::transient},  // SQLITE_LOCKED_SHAREDCACHE
        classified{15, errc::transient},          // SQLITE_PROTOCOL
        classified{9, errc::timed_out},           // SQLITE_INTERRUPT
        // files and permissions
        classified{3, errc::permission_denied},            // SQLITE_PERM
        classified{23, errc::permission_denied},           // SQLITE_AUTH
        classified{8, errc::read_only},                    // SQLITE_READONLY
        classified{8 | 4 << 8, errc::read_only},           // SQLITE_READONLY_DBMOVED
        classified{8 | 6 << 8, errc::read_only},           // SQLITE_READONLY_DIRECTORY
        classified{14, errc::connection_failed},           // SQLITE_CANTOPEN
        classified{14 | 2 << 8, errc::connection_failed},  // SQLITE_CANTOPEN_ISDIR
        // rows
        classified{19, errc::constraint},           // SQLITE_CONSTRAINT
        classified{19 | 1 << 8, errc::constraint},  // SQLITE_CONSTRAINT_CHECK
        classified{19 | 6 << 8, errc::constraint},  // SQLITE_CONSTRAINT_PRIMARYKEY
        classified{19 | 8 << 8, errc::constraint},  // SQLITE_CONSTRAINT_UNIQUE
        // anything else
        classified{1, errc::database_error},            // SQLITE_ERROR
        classified{7, errc::database_error},            // SQLITE_NOMEM
        classified{10, errc::database_error},           // SQLITE_IOERR
        classified{10 | 4 << 8, errc::database_error},  // SQLITE_IOERR_FSYNC
        classified{11, errc::database_error},           // SQLITE_CORRUPT
        classified{13, errc::database_error},           // SQLITE_FULL
        classified{17, errc::database_error},           // SQLITE_SCHEMA
        classified{26, errc::database_error},           // SQLITE_NOTADB
        classified{0, errc::database_error}
    )
);

// The table of docs/decisions/engines.md, row by row: whether a caller may go on.
struct in_file {
    const char* name;
    int extended_code;
    int system_error;
    bool is_transient;
};

TEST(sqlite_conditions, pass_or_stay) {
    for (const in_file& each : {
             in_file{"disk full", 13, 0, true},                     // SQLITE_FULL
             in_file{"disk full", 10 | 3 << 8, ENOSPC, true},       // SQLITE_IOERR_WRITE
             in_file{"disk full", 10 | 3 << 8, EDQUOT, true},       //
             in_file{"disk full", 10 | 4 << 8, ENOSPC, true},       // SQLITE_IOERR_FSYNC
             in_file{"disk full", 10 | 18 << 8, ENOSPC, true},      // SQLITE_IOERR_SHMOPEN
             in_file{"disk full", 10 | 19 << 8, ENOSPC, true},      // SQLITE_IOERR_SHMSIZE
             in_file{"disk full", 14, ENOSPC, true},                // SQLITE_CANTOPEN: its log
             in_file{"out of memory", 7, 0, true},                  // SQLITE_NOMEM
             in_file{"out of memory", 10 | 12 << 8, 0, true},       // SQLITE_IOERR_NOMEM
             in_file{"another writer", 5, 0, true},                 // SQLITE_BUSY
             in_file{"being recovered", 5 | 1 << 8, 0, true},       // SQLITE_BUSY_RECOVERY
             in_file{"disk that fails", 10 | 3 << 8, EIO, false},   // SQLITE_IOERR_WRITE
             in_file{"disk that fails", 10 | 19 << 8, EIO, false},  // SQLITE_IOERR_SHMSIZE
             in_file{"read-only", 8, 0, false},                     // SQLITE_READONLY
             in_file{"no such file", 14, ENOENT, false},            // SQLITE_CANTOPEN
             in_file{"damaged", 11, ENOSPC, false},                 // SQLITE_CORRUPT
             in_file{"wrong", 1, ENOSPC, false},                    // SQLITE_ERROR
         }) {
        const error said =
            sqlite::error_of("/data/app.db", {each.extended_code, each.system_error, "words"});
        EXPECT_EQ(said.is_transient(), each.is_transient)
            << each.name << ' ' << each.extended_code << ", errno " << each.system_error;
        const bool asks_for_room = std::string{said.what()}.find("make room") != std::string::npos;
        EXPECT_EQ(asks_for_room, each.name == std::string_view{"disk full"}) << said.what();
        const bool may_be_own = std::string{said.what()}.find("this program") != std::string::npos;
        EXPECT_EQ(may_be_own, (each.extended_code & 0xff) == 5) << said.what();
    }
}

}  // namespace
}  // namespace leasehold
