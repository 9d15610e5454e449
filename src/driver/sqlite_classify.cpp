#include "driver/sqlite_classify.hpp"

#include <cerrno>

namespace leasehold {

// The numbers are written out so that the table can be tested without SQLite; they are part of its
// promises and never change (sqlite.org/rescode.html).
errc classify_sqlite(int extended_code) noexcept {
    constexpr int cannotopen = 14;
    switch (extended_code & 0xff) {
        case 5:   // SQLITE_BUSY, also BUSY_SNAPSHOT: another writer was first
        case 6:   // SQLITE_LOCKED
        case 15:  // SQLITE_PROTOCOL: locking race while opening the WAL
            return errc::transient;
        case 3:   // SQLITE_PERM
        case 23:  // SQLITE_AUTH
            return errc::permission_denied;
        case 8:  // SQLITE_READONLY
            return errc::read_only;
        case 9:  // SQLITE_INTERRUPT: our own progress handler, at the statement's deadline
            return errc::timed_out;
        case cannotopen:
            return errc::connection_failed;
        case 19:  // SQLITE_CONSTRAINT
            return errc::constraint;
        default:
            return errc::database_error;
    }
}

bool is_exhausted_sqlite(int extended_code, int system_error) noexcept {
    constexpr int no_memory = 7, io_error = 10, full = 13, cannot_open = 14;
    constexpr int no_memory_for_file = 10 | 12 << 8;  // SQLITE_IOERR_NOMEM
    const int code = extended_code & 0xff;
    const bool is_of_file = code == io_error || code == cannot_open;
    const bool has_no_room = system_error == ENOSPC || system_error == EDQUOT;
    return code == no_memory || code == full || extended_code == no_memory_for_file ||
           (is_of_file && has_no_room);
}

}  // namespace leasehold
