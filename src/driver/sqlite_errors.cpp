#include "driver/sqlite_errors.hpp"

#include <sqlite3.h>

#include <system_error>
#include <utility>

#include "driver/sqlite_classify.hpp"

namespace leasehold::sqlite {
namespace {

// SQLite's own words where they name what SQLite took for a thing of the schema. Other words may
// quote the statement, and a statement may have a secret in it: error::server_message() has them.
std::string reason_of(const failure& what) {
    const bool names_a_thing = what.words.starts_with("no such ") ||
                               what.words.starts_with("ambiguous column name: ") ||
                               (what.words.starts_with("table ") &&
                                what.words.find(" has no column named ") != std::string::npos);
    if ((what.code & 0xff) != SQLITE_ERROR || !names_a_thing) return sqlite3_errstr(what.code);
    return what.words;
}

// Says which call failed on which file, and the remedy.
std::string explain(const failure& what, const std::string& path, errc meaning, bool is_exhausted) {
    const int code = what.code;
    const std::string where = "SQLite database " + path;
    const bool is_of_file = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    if (is_exhausted && is_of_file && code != SQLITE_IOERR_NOMEM) {
        return where + " cannot grow: " + std::generic_category().message(what.system_error) +
               "; make room, and try again";
    }
    switch (meaning) {
        case errc::transient:
            return where +
                   " was locked by another writer for too long, which may be a transaction of this "
                   "program: end it before this call, or give it to the call; or try again";
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
            return where + " refused a statement: " + reason_of(what);
    }
}

}  // namespace

error error_of(const std::string& path, const failure& what) {
    error_facts facts;
    facts.native_code = what.code;
    facts.server_message = what.words;
    // SQLite has no number for a missing table; its message has not changed since 2000.
    constexpr std::string_view no_table = "no such table: ";
    if ((what.code & 0xff) == SQLITE_ERROR && what.words.starts_with(no_table)) {
        return error{
            errc::schema_missing,
            "SQLite database " + path + " lacks a table, " + what.words.substr(no_table.size()) +
                ": if it is leasehold's, run `leasehold migrate`; if that has nothing to do, "
                "`leasehold doctor` says what was dropped by hand",
            std::move(facts)};
    }
    const errc meaning = classify_sqlite(what.code);
    facts.is_passing = is_exhausted_sqlite(what.code, what.system_error);
    const std::string message = explain(what, path, meaning, facts.is_passing);
    return error{meaning, message, std::move(facts)};
}

}  // namespace leasehold::sqlite
