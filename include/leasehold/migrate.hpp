#pragma once
// Brings leasehold's own tables to the version that this program knows.
//
//   leasehold::migrate(db);
//
// The statements are built into the library, each file with its checksum. They can be printed for
// review (migration_sql) and run by your own tool instead.
//
// Promises: any number of processes may start at once; each migration is applied exactly once,
// under a lock of its own. On PostgreSQL and SQLite a migration is applied whole or not at all. On
// MySQL and MariaDB, which commit every DDL statement by itself, an interrupted one is detected and
// reported; `resume` runs its statements again; each of them can be repeated. Upgrades go host by
// host: a migration may let older programs go on, from the one whose newest migration is N. Then
// its name ends with _from_N, and older programs read that in the database. Such a program works as
// before and tells its observer once; its migrate() changes nothing, its migrate_down() refuses.
// Older programs keep away from any other migration that they do not know.
// Errors: schema_mismatch if an applied migration was edited or is unknown to this program, or half
// applied, or the schema is newer than the program may go on with; the message says what to do.
// busy if a session is live and tables would go; permission_denied, read_only. Nothing is changed
// before these checks.
//
// Threads: safe.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// migrate() goes to this version, and may go on with a migration that stopped half-way.
struct migrate_settings {
    std::optional<int> to_version{};  // unset: the newest known
    bool resume = false;              // run a half-applied migration again
};

// A list of migrations has this of each of them.
struct migration_step {
    int version = 0;
    std::string name{};
    std::string checksum{};  // SHA-256 of the file, in hexadecimal
    bool is_applied = false;
    bool is_half_applied = false;
    bool is_newer = false;  // unknown to this program, which goes on with it if `problem` is empty
    std::string problem{};  // empty, or a message that describes its fault
};

// Applies all missing migrations; answers with those it applied, oldest first.
LEASEHOLD_EXPORT std::vector<migration_step> migrate(
    const database& db, const migrate_settings& settings = {}
);

// Takes back every migration above `to_version` (0: all of them), newest first. Deletes all rows of
// their tables, so it refuses while a session is live.
LEASEHOLD_EXPORT std::vector<migration_step> migrate_down(const database& db, int to_version);

// Every migration known to the program or recorded in the database. Changes nothing, never throws
// for a fault that it finds: `problem` has that.
LEASEHOLD_EXPORT std::vector<migration_step> migration_status(const database& db);

// The SQL that migrate() (from version `from` to `to`, or to the newest) or migrate_down() would
// run, with the names filled in and the records it would leave; runs by hand in psql, mysql or
// sqlite3. Taking all back leaves the table of the records, empty, which migrate() uses again.
LEASEHOLD_EXPORT std::string migration_sql(
    engine which, const table_names& names, int from = 0, std::optional<int> to = {}
);

// The SQL that gives a user of the database the rights that a program needs on these tables, and no
// more; the user that made them runs it, after each migration that adds a table.
//
// `user`: on PostgreSQL a role, in the case it was made with; on MySQL and MariaDB `app@host`, or
// `app` alone, which is app@'%' there, or a role. This function quotes it, whatever is in it. On
// SQLite the SQL is a comment that says whose rights count. Errors: invalid_argument if a part
// of the name is empty or has control characters in it.
LEASEHOLD_EXPORT std::string grants_sql(
    engine which, const table_names& names, std::string_view user
);

// This names one set of leasehold's tables in a database.
struct installation {
    table_names names{};   // with their schema on PostgreSQL
    bool is_ours = false;  // this database handle uses it
};

// All tables of leasehold in this database, whatever their names: locks under one name exclude
// nobody who uses another, so a program can find a mistyped prefix or schema before migrate() makes
// tables for it. Changes nothing; sees what this user may see, on MySQL and MariaDB of the one
// database alone. Empty if there is no file yet.
LEASEHOLD_EXPORT std::vector<installation> list_installations(const database& db);

// Throws schema_missing or schema_mismatch unless the schema is the one this program knows, or a
// newer one with which it may go on.
LEASEHOLD_EXPORT void require_schema(const database& db);

}  // namespace leasehold
