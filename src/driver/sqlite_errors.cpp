#include "driver/sqlite_errors.hpp"

#include <sqlite3.h>

namespace leasehold::sqlite {

std::string explain(int code, const std::string& path, errc meaning) {
    const std::string where = "SQLite database " + path;
    switch (meaning) {
        case errc::transient:
            return where + " was locked by another writer for too long; try again";
        case errc::read_only:
            return where + " may not be written; check the permissions of the file and its folder";
        case errc::timed_out:
            return where + " did not finish a statement within the time allowed";
        case errc::connection_failed:
            return where +
                   " cannot be opened; check that its folder exists, and that both may be read and "
                   "written";
        case errc::permission_denied:
            return where + " refuses access; check the permissions of the file and its folder";
        case errc::constraint:
            return where + " refused a row by one of its constraints";
        default:
            break;
    }
    switch (code & 0xff) {
        case SQLITE_FULL:
            return where + " cannot grow: " + sqlite3_errstr(code) + "; make room, and try again";
        case SQLITE_IOERR:
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return where + " failed: " + sqlite3_errstr(code) +
                   "; check the disk, and the file with `PRAGMA integrity_check`";
        default:
            return where + " refused a statement: " + sqlite3_errstr(code);
    }
}

}  // namespace leasehold::sqlite
