#pragma once
// SQLite through sqlite3: one file shared by the processes of one machine, nothing to set up.
//
//   leasehold::database db = leasehold::sqlite::open("sqlite:/var/lib/app/leasehold.db");
//
// `migrate` creates the file, in a folder that must exist. The driver opens it in WAL mode with
// synchronous=FULL. Its log, PATH-wal, is a part of it, also when nobody has it open: a copy takes
// both, and the old log must be deleted when an older copy is put back. Network file systems are
// not supported (sqlite.org/wal.html). A connection does not survive fork(): open the database in
// the child. Every process of the machine shares one kernel, so its CLOCK_BOOTTIME is the
// database's clock: steps of the wall clock change nothing, and a reboot frees everything.
//
// Errors: invalid_argument for a malformed URL; schema_missing if there is no file yet;
// connection_failed if the folder is missing; permission_denied without the right to read it;
// read_only without the right to write to the file or folder; unsupported for a file with several
// hard links, since there is a log beside each name. Symbolic links are fine.
// Threads: as database.hpp and connection.hpp say.
#include <memory>
#include <string_view>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/url_source.hpp"

struct sqlite3;

namespace leasehold {

namespace sqlite {

// URL: `sqlite:PATH`. `sqlite::memory:` is refused: it could not be shared.
LEASEHOLD_EXPORT database open(url_text url, database_settings settings = {});
// Calls `source` once: a file has no password.
LEASEHOLD_EXPORT database open(url_source source, database_settings settings = {});

}  // namespace sqlite

// Takes part in a transaction of the caller's own handle, which it neither opens nor closes.
LEASEHOLD_EXPORT borrowed_connection borrow(sqlite3* handle);

}  // namespace leasehold
