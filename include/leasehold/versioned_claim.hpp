#pragma once
// Claims rows of a table of your own by its version column: optimistic, without waiting.
//
//   leasehold::versioned_claim seats{{.table = "seat", .key = {"id"}, .version = "version",
//                                     .state = {"status", "free", "sold"},
//                                     .claimed_by = "sold_by"}};
//   leasehold::transaction tx = db.begin();
//   if (auto seat = seats.try_claim_in(tx, {42})) {
//       pay(tx, *seat);
//       tx.commit();
//   }
//
// Every attempt is one UPDATE that names the version it has read, or has just locked, and adds one
// to it. The number of rows it changed says whether it won. All of it happens in your transaction,
// and holds when you commit.
//
//   for (leasehold::versioned_row& each : batch) work(each);
//   const auto outcomes = seats.finish_in(tx, batch);  // for many rows, one for each
//
// | the row is …                         | a claim   | a change by its claimer                |
// |--------------------------------------|-----------|----------------------------------------|
// | available                            | a row     | –                                      |
// | claimed, without or before its term  | nothing   | done                                   |
// | claimed, past its term (`expires_at`)| a row     | lost, also if nobody has claimed since |
// | claimed again by somebody else       | nothing   | lost                                   |
// | finished                             | nothing   | lost; update_in() of its row: done     |
// | locked by a transaction still open   | nothing   | busy, when `busy_timeout` has run out  |
// | not there                            | nothing   | lost                                   |
//
// A row is available when `state` is at `from`; without a state column, when `claimed_by` is null,
// or `expires_at` is; or when the claim's term has passed; and all of `available` holds.
//
// A versioned_row has the state that a transaction gave it. If that transaction was rolled back, or
// the answer to its commit was lost, the row is void. The version of a void row may be that of
// somebody else's claim by now. Drop the row, and read or claim anew.
// With `claimed_by` a void row can change no claim of somebody else's. From claim to release every
// change through a row also compares the claimant, letter by letter, and a name chosen for you
// differs each time. Without that column nothing can tell; nor can anything tell for a row that was
// only read, or has been released. The column must give back letter by letter what was put in: with
// a trigger that writes another name every change is lost.
//
// Many rows at once: a call for several rows answers for each as the single call would, in the
// order given. A row that others have locked, or that was lost or is gone, does not hinder the
// other rows. Only busy rows are asked for again, until `busy_timeout` of the call has run out. If
// several have one key, at most one of them is done, the first that is right. There may be any
// number, or none: they travel in lists that no engine finds too long, in the order of their keys
// whatever the order given. A row that cannot be changed, as one whose version is at its greatest,
// is an error of the call before anything is changed. After any other error some may have been
// changed: roll back.
//
// Promises: if several try one version, at most one wins. Contention is an answer, never an
// exception: no attempt waits for the row, and on PostgreSQL none leaves your transaction aborted.
// A batch loses single rows to others, never all of them because of one.
// Does not promise: that side effects of your own columns do not wait or fail as in any UPDATE: a
// unique value that an open transaction has just used, a foreign key you change, a trigger, a
// constraint. On PostgreSQL, if a changed column is in a unique index, a transaction that is
// just checking a foreign key to the row has it locked (nothing; busy); on MySQL and MariaDB a
// change of what foreign keys refer to waits for their checks. Nor anything about writers that
// change a row without adding to its version, or move it to another partition at the moment of a
// claim, which PostgreSQL answers by aborting it (40001); that the columns a row comes with are
// newer than the read that found it; that a claim outlives the rollback of the transaction it was
// made in.
//
// If two transactions skip each other's locked rows at one instant, MariaDB may take this for a
// deadlock and roll one back: errc::transient. Claim in one order, and try again.
//
// Isolation: READ COMMITTED on PostgreSQL (elsewhere a conflict would abort your transaction); READ
// COMMITTED or REPEATABLE READ on MySQL and MariaDB, by what the session says (the one-time SET
// TRANSACTION does not show there), where REPEATABLE READ offers candidates of an old snapshot and
// finds fewer, keeps a lock on the row if a change is lost, and on the gap if a key is not
// there, until your transaction ends; a change of a row deleted since your snapshot is busy.
// Another level is errc::wrong_transaction, and so is REPEATABLE READ with MariaDB's
// innodb_snapshot_isolation (on by default since 11.6), which rolls back a transaction that finds a
// newer row; on PostgreSQL a READ ONLY transaction is errc::read_only.
// SQLite has one writer: every call but read_in() first takes the write lock of your transaction,
// and waits for it as long as your handle's busy time-out says. If the lock is refused, a claim is
// empty and a change busy. Begin with BEGIN IMMEDIATE: a transaction that has read before somebody
// else wrote cannot write any more (errc::transient). Terms go by the machine's wall clock there;
// on MySQL and MariaDB see time_kind::instant for sessions with daylight saving.
//
// Errors: invalid_argument for a mapping or argument that can never work; schema_mismatch if the
// database is not as the mapping says; constraint if the version is the greatest its column holds,
// or is null (a claim of several passes over such rows); wrong_transaction if none is open, it has
// failed, the connection is in pipeline mode, or it is of another engine than the one first used.
// All come before anything is sent that could hurt. Before a call refuses an argument, it reads the
// description of the table again, with the user's rights.
// Threads: safe; copies share their knowledge of the table. One object, one database, one user.
// Source: "optimistic offline lock", Fowler 2002; Kung and Robinson 1981.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "leasehold/claim_mapping.hpp"
#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/string_list.hpp"

namespace leasehold {

// A versioned_claim finds and claims the rows of a table by this description.
struct versioned_mapping {
    qualified_name table{};
    string_list key{};      // 1 or more columns, together unique
    std::string version{};  // a NOT NULL integer, counted up to 2^63 - 1 at most
    state_column state{};
    std::vector<condition> available{};  // further conditions that a row must fulfil to be claimed
    std::vector<order_by> order{};       // needed to claim more than one
    std::string claimed_by{};            // a text column: the claimant
    std::string claimed_at{};
    std::string expires_at{};                         // the end of the claim's term; null: never
    std::optional<std::chrono::microseconds> term{};  // with expires_at: 1 ms to 366 days
    time_kind times = time_kind::instant;
    string_list columns{};  // the columns that a row comes with
    // The text for claimed_by; empty: "claim@host:pid" and a tag that each claim has of its own,
    // with as much of the former as a narrow column has room for, which needs 12 characters. A text
    // that you choose is compared too, and does not end in a blank. Give each program another one:
    // those with one text can change each other's claims.
    std::string claimant{};
    // The time for which update_in, finish_in and release_in go on asking while another transaction
    // has the row locked; 0 to 1 h, zero asks once.
    std::chrono::milliseconds busy_timeout{1000};
};

// A row as it was found or claimed, to be kept between claim and finish.
struct versioned_row {
    parameters key{};          // in the order of the mapping
    std::int64_t version = 0;  // the version after the last change through this object
    row columns{};             // those of the mapping, as they were before the claim
    bool is_claimed = false;   // by the owner of this object
    std::string claimed_as{};  // the text that its claim put into claimed_by; empty: not compared
};

enum class [[nodiscard]] change_outcome{
    done = 1,
    lost = 2,  // another version, an expired claim, or no row: write nothing on its strength
    busy = 3,  // another open transaction has the row locked; nothing was changed
};

constexpr const char* name_of(change_outcome outcome) noexcept {
    switch (outcome) {
        case change_outcome::done:
            return "done";
        case change_outcome::lost:
            return "lost";
        case change_outcome::busy:
            return "busy";
    }
    return "outcome this program does not know";
}

// The order in which a claim of several goes through the available rows.
enum class candidate_order {
    // Random ones of the first `max_candidates` in the mapping's order, so that workers do not run
    // after each other. On SQLite, where workers cannot collide, this is `ordered`.
    shuffled = 1,
    // The mapping's order. Losers move on to the next.
    ordered = 2,
};

// A call of versioned_claim chooses among the available rows by this.
struct claim_choice {
    std::vector<condition> where{};  // besides the mapping's
    candidate_order candidates = candidate_order::shuffled;
    int max_candidates = 64;  // rows looked at per call, 1 to 10000; at least 8 n are
};

class LEASEHOLD_EXPORT versioned_claim {
public:
    explicit versioned_claim(versioned_mapping mapping);

    // Compares the mapping with the database, and warns: a missing index, a version that may be
    // null. The first form tells the database's observer, the second answers with the warnings; the
    // first use of a mapping that was not checked tells nobody.
    void check(const database& db) const;
    std::vector<std::string> check_in(transaction_ref tx) const;

    // The row with its version, claimed or not; nullopt if there is none. Any isolation level.
    std::optional<versioned_row> read_in(transaction_ref tx, const parameters& key) const;

    // The row, if it was available and nobody was faster.
    [[nodiscard]] std::optional<versioned_row> try_claim_in(
        transaction_ref tx, const parameters& key
    ) const;
    // Claims the row if it is still as it was read.
    [[nodiscard]] std::optional<versioned_row> try_claim_in(
        transaction_ref tx, const versioned_row& as_read
    ) const;
    // Up to n available rows, 1 to 1000. Fewer does not mean that there are no more.
    [[nodiscard]] std::vector<versioned_row> try_claim_some_in(
        transaction_ref tx, int n, const claim_choice& choice = {}
    ) const;

    // Each adds one to the version of a row that still is as `at` says, and to `at`. update_in()
    // also begins the term of a claim anew. finish_in() ends a claim for good: the state becomes
    // `done`, and no term runs. release_in() makes the row available again.
    change_outcome update_in(transaction_ref tx, versioned_row& at, const assignments& to = {})
        const;
    change_outcome finish_in(transaction_ref tx, versioned_row& at, const assignments& to = {})
        const;
    change_outcome release_in(transaction_ref tx, versioned_row& at, const assignments& to = {})
        const;

    // Changes many rows, all to the same values: answers with the outcome of each, in the order
    // given. Rows that are done have one more in their version, and the other rows are as they
    // were. Rows of different claims may be mixed; a row that was only read can only be updated.
    [[nodiscard]] std::vector<change_outcome> update_in(
        transaction_ref tx, std::span<versioned_row> rows, const assignments& to = {}
    ) const;
    [[nodiscard]] std::vector<change_outcome> finish_in(
        transaction_ref tx, std::span<versioned_row> rows, const assignments& to = {}
    ) const;
    [[nodiscard]] std::vector<change_outcome> release_in(
        transaction_ref tx, std::span<versioned_row> rows, const assignments& to = {}
    ) const;

    const versioned_mapping& mapping() const&;
    versioned_mapping mapping() const&& { return mapping(); }

    class implementation;  // private: src/claims/versioned_claim.cpp

private:
    handle<std::shared_ptr<implementation>, "versioned_claim"> inner_;
};

}  // namespace leasehold
