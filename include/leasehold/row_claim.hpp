#pragma once
// Claims rows of a table of your own by locking them: SELECT … FOR UPDATE in your transaction.
//
//   leasehold::row_claim tasks{
//       {.table = "task", .key = {"id"}, .columns = {"payload"},
//        .where = {{"state", leasehold::comparison::equal, "ready"}}, .order = {"id"}}};
//   leasehold::transaction tx = db.begin();
//   for (const auto& each : tasks.claim_some_in(tx, 10, leasehold::skip_locked).rows) {
//       work(tx, each);
//   }
//   tx.commit();  // the locks go
//
// The rows are yours until your transaction ends, however it ends; a process that dies frees them.
//
// | the rows asked for are …        | nowait  | skip_locked         | wait_at_most(timeout)     |
// |---------------------------------|---------|---------------------|---------------------------|
// | there, and nobody has them      | claimed | claimed             | claimed                   |
// | locked by others, by key        | busy    | busy                | claimed; busy after it    |
// | some of the first n locked      | busy    | claimed: the others | claimed; busy after it    |
// | not there, or not as `where`    | none    | none                | none                      |
//
// Promises: never more than n rows. No other program that claims, updates or deletes them can have
// them at the same time. Contention is an answer, never an exception, and never waits inside the
// database: a wait is a bounded series of tries. No setting of the connection is touched, and on
// PostgreSQL contention does not abort your transaction: the one exception are rows that others
// move from one partition to another, of which the checks warn.
// Does not promise: fairness of waiting; on PostgreSQL the order of rows whose order columns were
// being changed; anything about rows outside of the table. `busy` is what the database showed at
// that moment: the other transaction may have ended by now.
//
// Strength: `update` and `share` on every engine, `no_key_update` and `key_share` on PostgreSQL.
// SQLite has no row locks: every call takes the write lock of your transaction, whatever was asked
// for, and waits for it as long as your handle's busy time-out says; then no row is busy. If that
// lock is refused the answer is busy. Begin with BEGIN IMMEDIATE: a transaction that has read
// before somebody else wrote cannot write any more (errc::transient). In a cluster with several
// nodes that are written to (Galera, Group Replication with several primaries) a row lock is one
// node's alone: errc::schema_mismatch, unless the mapping says otherwise. A versioned_claim is safe
// there. MySQL and MariaDB keep every row lock until your transaction ends, also those that a
// refused nowait or wait of several rows had got: two transactions that wait for several rows may
// each hold a row that the other needs until both limits end. Use skip_locked there, or roll back
// after busy and try again. At REPEATABLE READ a claim by a key that does not exist locks the gap
// it would be in, so that nobody else can insert into that until then; a row that is not as `where`
// says stays locked; and a row that was deleted since your snapshot is busy, not none.
//
// Isolation: READ COMMITTED on PostgreSQL, since a conflict would abort your transaction at another
// level, and not READ ONLY; on MySQL and MariaDB too for claims of several, which would lock the
// gaps between the rows and stop others' inserts, and READ COMMITTED or REPEATABLE READ by key.
// There the session's level counts (the one-time SET TRANSACTION does not show), and REPEATABLE
// READ with MariaDB's innodb_snapshot_isolation, on by default since 11.6, is as on PostgreSQL. Any
// other level is errc::wrong_transaction. An index must serve `where` and `order`: without one
// MySQL and MariaDB lock every row they sort, and the next claimer gets nothing. The checks warn;
// on these two a claim forces the index that was found.
//
// Errors and threads: as versioned_claim.hpp says.
// Source: WL#3597 "Skip locked"; PostgreSQL manual, "The Locking Clause".
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "leasehold/claim_mapping.hpp"
#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/string_list.hpp"

namespace leasehold {

// A claim locks its rows with one of these strengths of a locking SELECT.
enum class lock_strength {
    update = 1,         // keeps out all others; FOR UPDATE
    no_key_update = 2,  // PostgreSQL: lets rows that refer to these be inserted
    share = 3,          // keeps out writers of the rows; several can have it
    key_share = 4,      // PostgreSQL: keeps out deletes, and changes of their keys
};

// A row_claim finds and locks the rows of a table by this description.
struct row_mapping {
    qualified_name table{};
    string_list key{};               // 1 or more columns, together unique
    string_list columns{};           // the columns that a row comes with
    std::vector<condition> where{};  // conditions that a row must fulfil to be claimed
    std::vector<order_by> order{};   // needed to claim more than one
    lock_strength strength = lock_strength::update;
    time_kind times = time_kind::instant;  // of the columns that `is_due` looks at
    // For a cluster that could be written to at several nodes: as in database_settings.
    bool one_node_is_written_to = false;
};

// The treatment of rows that others have locked.
struct when_locked {
    enum class rule { refuse = 1, skip = 2, wait = 3 };
    rule what = rule::refuse;
    std::chrono::milliseconds timeout{0};  // of a wait: 0 to 1 h
};
inline constexpr when_locked nowait{when_locked::rule::refuse, std::chrono::milliseconds{0}};
inline constexpr when_locked skip_locked{when_locked::rule::skip, std::chrono::milliseconds{0}};
constexpr when_locked wait_at_most(std::chrono::milliseconds timeout) {
    return {when_locked::rule::wait, timeout};
}

// A claim of rows gives one of these answers.
enum class claim_status { claimed = 1, busy = 2, none = 3 };

constexpr const char* name_of(claim_status outcome) noexcept {
    switch (outcome) {
        case claim_status::claimed:
            return "claimed";
        case claim_status::busy:
            return "busy";
        case claim_status::none:
            return "none";
    }
    return "outcome this program does not know";
}

// A row_claim gives each row that it has locked in this form.
struct claimed_row {
    parameters key{};  // in the order of the mapping
    row columns{};     // those of the mapping
};

struct [[nodiscard]] claimed_rows {
    claim_status status = claim_status::none;
    std::vector<claimed_row> rows{};  // where claimed

    explicit operator bool() const noexcept { return status == claim_status::claimed; }
};

class LEASEHOLD_EXPORT row_claim {
public:
    explicit row_claim(row_mapping mapping);

    // The checks of versioned_claim.
    void check(const database& db) const;
    std::vector<std::string> check_in(transaction_ref tx) const;

    // The row with this key, if it is as `where` says.
    claimed_rows claim_in(transaction_ref tx, const parameters& key, when_locked others) const;
    // The first rows in the mapping's order, at most n, 1 to 1000. `and_where` adds to the
    // mapping's own conditions.
    claimed_rows claim_some_in(
        transaction_ref tx, int n, when_locked others, const std::vector<condition>& and_where = {}
    ) const;

    const row_mapping& mapping() const&;
    row_mapping mapping() const&& { return mapping(); }

    class implementation;  // private: src/claims/row_claim.cpp

private:
    handle<std::shared_ptr<implementation>, "row_claim"> inner_;
};

}  // namespace leasehold
