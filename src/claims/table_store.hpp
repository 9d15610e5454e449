#pragma once
// The operations on tables of the user's own. No statement touches one of leasehold's tables, and
// none commits, rolls back or changes a setting: everything happens in the caller's transaction.
//
// Every operation MUST
// - quote each name and send each value as a parameter;
// - wait for no row: it passes over rows that another transaction has locked;
// - on PostgreSQL raise no error because of others, at READ COMMITTED;
// - decide by what it changed or locked, by the database's clock read after any wait.
// The names were looked up before: see claim/mapping_check.hpp.
//
// Threads: stateless; safe.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"
#include "leasehold/row_claim.hpp"
#include "leasehold/versioned_claim.hpp"

namespace leasehold {

enum class column_kind {
    integer = 1,
    number = 2,  // floating point and decimal
    text = 3,
    bytes = 4,
    instant = 5,  // a time with a zone, as time_kind says
    utc = 6,      // a time without a zone
    boolean = 7,
    other = 8,  // takes values that can be written as text
    any = 9,    // SQLite: holds any value
};

struct column_shape {
    std::string name;
    column_kind kind = column_kind::other;
    std::string type;  // as the engine writes it
    bool is_nullable = true;
    bool is_generated = false;  // by the database alone: a statement that sets it fails
    // PostgreSQL: the table is partitioned by it. An update that changes it moves the row, which
    // aborts the transactions that have just found it.
    bool is_partition_key = false;
    // PostgreSQL: foreign keys could refer to it. An update that changes it conflicts with
    // transactions that check theirs, and is to lock FOR UPDATE.
    bool is_referable = false;
    bool is_unsigned = false;
    int bits = 64;      // an integer's; on PostgreSQL also a floating point's
    int precision = 0;  // digits of a decimal, `scale` of them fraction; 0: any
    int scale = 0;
    std::int64_t max_length = 0;      // of text, in characters; 0: no limit
    int fraction_digits = 6;          // digits of a time's seconds
    std::vector<std::string> labels;  // of an enumeration
    // PostgreSQL: the base type, as any search_path finds it, so that an array of such values can
    // be sent; empty if it has no array type.
    std::string element_type;
    // PostgreSQL: comparing with it, or ordering by it, is an error if it has no order.
    bool is_comparable = true;
    bool is_date = false;
    bool is_uuid = false;
    // PostgreSQL: the user of the connection has the right to. Elsewhere a refusal ends nothing.
    bool may_be_read = true;
    bool may_be_changed = true;
};

struct index_shape {
    struct part {
        std::string column;  // empty for an expression
        bool is_descending = false;
        bool is_prefix = false;  // has the column's first characters alone
    };
    std::string name;         // empty if it has none
    std::vector<part> parts;  // with those the engine appends by itself
    std::size_t own_parts = 0;
    bool is_unique = false;  // over its own parts
    bool is_partial = false;
    bool is_primary = false;
    bool is_deferrable = false;  // may be violated until the commit
    bool is_ignored = false;     // the planner does not use it, and cannot be told to
    // The index tells values apart that one of its columns compares as equal, so that a value of
    // that column may name several rows.
    bool is_finer = false;
};

// A table as the catalogue describes it.
struct table_shape {
    std::vector<column_shape> columns;  // empty: there is no such table
    std::vector<index_shape> indexes;
    // MySQL and MariaDB: the session's clock is set back and forth, and its answer is a time.
    bool has_daylight_saving = false;
    // The server is a node of a cluster with several written nodes: a row lock is one node's alone.
    bool has_several_writers = false;
    std::string unfit;  // why its rows cannot be claimed, in one clause; or empty
    // PostgreSQL, as of columns: that it can be named at all, and its rows be locked.
    bool may_be_reached = true;
    bool may_be_locked = true;
};

// The change to make to a column.
enum class column_wish {
    add = 1,  // with name, kind and default
    allow_null = 2,
    forbid_null = 3,
    widen = 4,  // to the widest or finest type of its kind
};

struct column_change {
    column_wish wish;
    column_shape column;  // as it is; of one to be added: its name and kind
    std::optional<value> not_null_default{};
};

// The purpose of a claim, which decides the level of isolation it needs.
enum class claim_use { versioned = 1, row_by_key = 2, several_rows = 3 };

// The rows a row_claim asks for: with keys those of them that meet `where`; without, the first.
struct row_request {
    const row_mapping& mapping;
    std::vector<condition> where;  // the mapping's own and the call's
    std::vector<parameters> keys;
    int limit = 1;
    std::string index;  // that serves where and order; empty: none known
};

// A claim of up to `count` of the first `limit` that look available, in the mapping's order.
struct several_request {
    const versioned_mapping& mapping;
    std::vector<condition> where;  // the mapping's own and the call's
    int limit = 1;
    int count = 1;
    bool is_shuffled = false;       // any of them; otherwise the first that can be locked
    std::string claimed_as{};       // the value that the claim puts into claimed_by
    std::int64_t version_most = 0;  // rows of this version and greater ones are passed over
    bool is_referable = false;
    std::string index{};
    std::string late_index{};  // that serves those whose term has passed; empty: none known
    std::string key_index{};   // that finds rows by their keys
};

struct several_claimed {
    std::vector<versioned_row> rows;
    bool has_passed_over = false;  // passed over a row because of its version
};

struct found_row {
    versioned_row row;
    bool is_available = false;
};

enum class claim_change { update = 1, finish = 2, release = 3 };

// The change to make to rows.
struct change_request {
    const versioned_mapping& mapping;
    claim_change what;
    const assignments& to;
    bool is_referable = false;
    std::vector<const column_shape*> key{};  // the columns of the mapping's key
    std::string key_index{};                 // that finds rows by their keys
};

class table_store {
public:
    virtual ~table_store() = default;
    static std::unique_ptr<table_store> make(engine which);

    // ---- the catalogue: plain reads

    virtual table_shape look_up(connection& inside, const qualified_name& table) const = 0;
    // Compared as the engine compares names of columns.
    virtual bool is_same_column(const std::string& left, const std::string& right) const = 0;
    // The form in which the engine takes it: PostgreSQL compares no truth value with a number.
    virtual value as_sent(const column_shape& column, const value& given) const = 0;
    // True if this error says that a named index does not exist.
    virtual bool lacks_index(const error& failure) const = 0;
    // ALTER TABLE … and CREATE INDEX …, to be shown to people. Empty if the engine can only make
    // the table anew.
    virtual std::string change_column_text(const qualified_name& table, const column_change& wanted)
        const = 0;
    // `suffix` is the part of the index's name behind the table's.
    virtual std::string add_index_text(
        const qualified_name& table, const std::vector<order_by>& columns, std::string_view suffix
    ) const = 0;
    // Says why two values, as sent, are one to that column: the value it holds of the one compares
    // equal to the other, or to the value it holds of the other. Only the database can tell: by its
    // collation, by how it rounds, pads or converts. The answer is for people, to be put behind
    // "is": the type, and the collation if there is one. nullopt if the column tells them
    // apart. Throws schema_mismatch if the database says that the column cannot hold one of
    // them. The caller has looked up the table and checked the rights. MUST read no row, lock
    // nothing, and leave the transaction as it was.
    virtual std::optional<std::string> taken_for_one(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const value& one,
        const value& other
    ) const = 0;

    // ---- before anything that locks

    // Throws wrong_transaction if the level of isolation makes the use unsafe, and on PostgreSQL
    // read_only if nothing can be locked; on SQLite takes the write lock, and false says that
    // somebody else has it.
    virtual bool enter(connection& inside, const qualified_name& table, claim_use what) const = 0;

    // ---- versioned_claim

    virtual std::optional<found_row> read(
        connection& inside, const versioned_mapping& mapping, const parameters& key
    ) const = 0;
    // Before a claim or change by an earlier read: false if a plain read shows that it must
    // fail. If a failure would cost nothing it answers true and sends nothing.
    virtual bool looks_unchanged(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const = 0;
    // One UPDATE. True: the row was available and at this version, and now `as_read.claimed_as` has
    // claimed it. `is_referable`: one of the changed columns is referable. More than one row
    // changed is an error.
    virtual bool claim(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& as_read,
        bool is_referable
    ) const = 0;
    // Claims several rows so, at the versions they have when they are locked. Answers with the rows
    // that are now claimed, as `claim` leaves them. MUST lock only rows that it claims, except an
    // available row that has been changed since it was looked at.
    virtual several_claimed claim_several(connection& inside, const several_request& wanted)
        const = 0;
    // One UPDATE. Done: the row was at this version and, where it is claimed, within its term.
    // If nothing was changed: busy if the row may still be as `at` says, so that it only was
    // locked, and lost otherwise. That test MUST see all commits since, and MUST lock nothing at
    // READ COMMITTED, where a lock of the loser would keep out the winner.
    virtual change_outcome change(
        connection& inside, const change_request& wanted, const versioned_row& at
    ) const = 0;
    // Changes each of several rows so, in their order. They are in the order of their keys, no two
    // have one key, all or none of them are claimed, and all or none have a `claimed_as`.
    virtual std::vector<change_outcome> change_several(
        connection& inside, const change_request& wanted, std::span<const versioned_row> rows
    ) const = 0;

    // ---- row_claim

    // The keys of the first rows, whether locked or not: a plain read.
    virtual std::vector<parameters> look(connection& inside, const row_request& wanted) const = 0;
    // Locks and returns rows that nobody else has locked, at most `limit` of them. With keys it
    // gives the locks back, if the engine can, when it did not get all of them; the rows it
    // returns then are not the caller's.
    virtual std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const = 0;
    // Locks and returns the row of one key. MUST see all commits since: otherwise it would answer
    // `busy` for ever for a row that does not meet `where` any more.
    virtual claimed_rows lock_by_key(connection& inside, const row_request& wanted) const = 0;
};

}  // namespace leasehold
