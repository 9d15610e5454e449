#pragma once
// What any database must be able to do with tables of the user's own. No statement touches one of
// leasehold's tables, and none commits, rolls back or changes a setting: everything happens in a
// transaction that is the caller's.
//
// Every operation MUST
// - quote what is a name and send what is a value as a parameter;
// - wait for no row: what another transaction has locked is passed over;
// - on PostgreSQL raise no error because of others, at READ COMMITTED;
// - decide by what it changed or locked, by the database's clock read after any wait.
// The names were looked up before: see claim/mapping_check.hpp.
//
// Threads: stateless; safe.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/row_claim.hpp"
#include "leasehold/versioned_claim.hpp"

namespace leasehold {

enum class column_kind {
    integer = 1,
    number = 2,  // floating point and decimal
    text = 3,
    bytes = 4,
    instant = 5,  // a time with a zone, as time_kind says
    utc = 6,      // one without
    other = 7,
};

struct column_shape {
    std::string name;
    column_kind kind = column_kind::other;
    std::string type;  // as the engine writes it
    bool is_nullable = true;
};

struct index_shape {
    struct part {
        std::string column;  // empty for an expression
        bool is_descending = false;
    };
    std::string name;         // empty where it has none
    std::vector<part> parts;  // with those the engine appends by itself
    std::size_t own_parts = 0;
    bool is_unique = false;  // over its own parts
    bool is_partial = false;
};

// A table as the catalogue has it.
struct table_shape {
    std::vector<column_shape> columns;  // empty: there is no such table
    std::vector<index_shape> indexes;
    std::string unfit;  // why its rows cannot be claimed, where they cannot: one clause
};

// What a claim is about to do, for the level of isolation it needs.
enum class claim_use { versioned = 1, row_by_key = 2, several_rows = 3 };

// The rows a row_claim asks for. With keys: those, if they are as `where` says; without: the first.
struct row_request {
    const row_mapping& mapping;
    std::vector<condition> where;  // the mapping's own and the call's
    std::vector<parameters> keys;
    int limit = 1;
    std::string index;  // that serves where and order; empty: none known
};

struct candidate_request {
    const versioned_mapping& mapping;
    std::vector<condition> where;  // the mapping's own and the call's
    int limit = 1;
    std::string index;
};

struct found_row {
    versioned_row row;
    bool is_available = false;
};

enum class claim_change { update = 1, finish = 2, release = 3 };

class claim_store {
public:
    virtual ~claim_store() = default;

    // ---- the catalogue: plain reads

    virtual table_shape look_up(connection& inside, const qualified_name& table) const = 0;
    // Compared as the engine compares names of columns.
    virtual bool is_same_column(const std::string& left, const std::string& right) const = 0;
    // Whether a value of this alternative can be compared with, and stored in, such a column.
    // Engines that convert by themselves say yes.
    virtual bool is_typed() const = 0;
    // ALTER TABLE … ADD COLUMN …, and CREATE INDEX …, to be shown to people.
    virtual std::string add_column_text(
        const qualified_name& table,
        const std::string& column,
        column_kind kind,
        const std::optional<value>& not_null_default
    ) const = 0;
    virtual std::string add_index_text(
        const qualified_name& table, const std::vector<order_by>& columns
    ) const = 0;

    // ---- before anything that locks

    // Throws wrong_transaction where the level of isolation makes the use unsafe; on SQLite takes
    // the write lock, and false says that somebody else has it.
    virtual bool enter(connection& inside, const qualified_name& table, claim_use what) const = 0;

    // ---- versioned_claim

    virtual std::optional<found_row> read(
        connection& inside, const versioned_mapping& mapping, const parameters& key
    ) const = 0;
    // The first that look available, in the mapping's order: a plain read.
    virtual std::vector<versioned_row> candidates(
        connection& inside, const candidate_request& wanted
    ) const = 0;
    // One UPDATE. True: the row was available and at this version, and is now claimed.
    virtual bool claim(
        connection& inside, const versioned_mapping& mapping, const versioned_row& as_read
    ) const = 0;
    // One UPDATE. True: the row was at this version and, where it is claimed, within its term.
    virtual bool change(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to
    ) const = 0;
    // After a change that changed nothing: whether the row may still be as `at` says, so that it
    // only was locked. MUST see what was committed since.
    virtual bool may_be_locked(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const = 0;

    // ---- row_claim

    // The keys of the first rows, whether locked or not: a plain read.
    virtual std::vector<parameters> look(connection& inside, const row_request& wanted) const = 0;
    // Locks and returns what nobody else has locked. MUST return at most `limit` rows.
    virtual std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const = 0;
    // Brackets a lock() that is given up where it did not get all: drops what it locked since, if
    // the engine can.
    virtual void begin_try(connection& inside) const = 0;
    virtual void end_try(connection& inside, bool keep) const = 0;
};

}  // namespace leasehold
