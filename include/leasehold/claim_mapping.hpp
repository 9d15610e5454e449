#pragma once
// Describes a table of your own to versioned_claim and row_claim: by names, never SQL.
//
//   leasehold::versioned_mapping seats{
//       .table = "seat", .key = {"id"}, .version = "version", .state = {"status", "free", "sold"}};
//
// Names are quoted as identifiers and values travel as parameters: no part of a mapping is ever
// read as SQL. PostgreSQL compares names exactly ("Seat" is not seat); each other engine has its
// own rule.
//
// A mapping is checked against the database before the first statement that uses it, so that a
// wrong name or type is a clear error and cannot hurt the transaction it is used in. check(db) does
// so when a program starts, or else the first use does. A mapping that cannot be right is an error,
// with the ALTER TABLE that cures it; a missing index is a warning, which only the checks give.
//
// Errors: no such table or column; another type than the role needs; a value that is not of its
// column's type; two values that are one to it, as 'p' and 'P' by many collations; a key without an
// index unique at every moment (DEFERRABLE, partial), or that may be null; one column in two roles;
// a role that a claim changes and that is in the key, generated, NOT NULL if a claim leaves null
// or partitioned by (PostgreSQL); a version of 8 or 16 bits; an expiry too coarse for the term.
// On PostgreSQL a missing right is errc::permission_denied before it is needed, since the refusal
// would abort the transaction: USAGE of the schema, SELECT of the columns that it reads, UPDATE of
// those that a claim changes, and UPDATE of any column to lock rows. Only read_in() of
// versioned_claim needs no UPDATE.
// Warnings, by check(db) to the observer and by check_in(tx) as its answer: no index for several
// rows, or for those whose term has passed, which is one on state and expires_at; on MySQL and
// MariaDB a time_kind::instant in a session with daylight saving; a version of 32 bits or that may
// be null; an expiry without milliseconds, which the engine rounds; on SQLite a primary key that
// may be null; on PostgreSQL a row_claim that asks for what the table is partitioned by: if
// somebody moves a row to another partition, a program that claims it at that moment is aborted
// (40001).
//
// A value has the type of its column: an integer, a number, text or bytes. Digits as text are a
// number; truth values are 0 and 1; times are "YYYY-MM-DD HH:MM:SS"; the value of an enumeration is
// a label, letter by letter; for any other type it is text as the engine has it (the library looks
// at a UUID and a date). A column whose type has no order, as PostgreSQL's json, is neither
// compared nor ordered by. SQLite's columns of no type take anything. Values are compared as their
// column compares, by its type and collation.
//
// Threads: plain values.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/value.hpp"

namespace leasehold {

// A table, with the schema it is in: on PostgreSQL a schema, on MySQL and MariaDB a database, on
// SQLite the name of an attached file. An empty schema is the one where the connection looks first;
// on SQLite it is the file itself, `main`, where no temporary table may have the same name.
struct qualified_name {
    qualified_name() = default;
    qualified_name(const char* table) : name(table) {}
    qualified_name(std::string table, std::string within = {})
        : name(std::move(table)), schema(std::move(within)) {}

    std::string name;
    std::string schema;
};

// A condition compares a column with its value in one of these ways.
enum class comparison {
    equal = 1,
    not_equal = 2,
    less = 3,
    at_most = 4,
    greater = 5,
    at_least = 6,
    is_null = 7,      // takes no value
    is_not_null = 8,  // takes no value
    is_due = 9,       // takes no value: holds for a time that is not in the database's future
};

// One test of one column. All tests of a list must hold. A comparison with null never holds.
struct condition {
    std::string column{};
    comparison is = comparison::equal;
    value than{};
};

// A column by which candidates are ordered; the engine decides where nulls come.
struct order_by {
    order_by(const char* name) : column(name) {}
    order_by(std::string name) : column(std::move(name)) {}

    std::string column;
    bool is_descending = false;
};
inline order_by descending(std::string column) {
    order_by made{std::move(column)};
    made.is_descending = true;
    return made;
}

// The type of the columns that hold times. The database's clock reads and writes all of them.
enum class time_kind {
    // PostgreSQL timestamptz; MySQL and MariaDB TIMESTAMP; on SQLite it is `utc`. MySQL and MariaDB
    // compute with these in the time zone of the session: if that has daylight saving, a term
    // during which the clock changes is an hour longer or shorter, and in spring may be refused as
    // a time that does not exist. Use a session in UTC there, or one of the other kinds.
    instant = 1,
    // Without a zone, and holding UTC: PostgreSQL timestamp; MySQL and MariaDB DATETIME; SQLite
    // TEXT as `strftime('%Y-%m-%d %H:%M:%f')` writes it.
    utc = 2,
    // Whole microseconds since 1970 in a 64-bit integer, on every engine.
    microseconds = 3,
};

// A column that says how far a row has got. A row with `from` may be claimed, and one with `to` is
// claimed. finish_in() writes `done`, a third value; null leaves the row at `to`.
struct state_column {
    std::string column{};
    value from{};
    value to{};
    value done{};
};

// A column and what it becomes, in the same UPDATE as the claim's own columns.
struct assignment {
    std::string column{};
    value to{};
};
using assignments = std::vector<assignment>;

}  // namespace leasehold
