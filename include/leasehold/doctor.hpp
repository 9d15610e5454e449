#pragma once
// Says whether all is well with a database that leasehold uses, and why a key is not free.
//
//   for (const auto& each : leasehold::diagnose(db)) {
//       if (each.severity == leasehold::severity::error) std::clog << each.what << '\n';
//   }
//
// Promises: reads only, except that it may lock a row for an instant, as find_row_lock() explains.
// A database that cannot be reached, has no tables, or refuses a question is a finding, not an
// exception. Each finding has a name that stays the same: scripts and alarms may rely on it.
// Does not promise: to find everything. The doctor judges only what its user may see; if a right is
// missing, the finding `not_looked_at` names the question. That finding is good then, so that a
// program's own user, who may see little, is not warned of it.
//
// Ends within connect_timeout if nothing answers; if the server stops answering, within the
// statement_timeout of one question and the time of one try more.
//
// The doctor looks at the first 1,000 tasks and the first 1,000 schedules by name; `not_looked_at`
// says if there are more. Each finding about runs, schedules and queues names 20 of them, and
// the last one says how many are like it.
//
// Costs: some thirty statements, and on MySQL's family one for each right that it asks for; each
// has the handle's statement_timeout. Two read all lock rows, and a third where five keys or more
// are held for long; as many read all holders of shared keys. One reads all sessions, and one some
// jobs of each queue: 20,000 queues take 0.1 s. With 1,000,000 keys, all of them held for days, by
// 100,000 sessions, it takes 2.4 s on PostgreSQL, 3.4 s on MariaDB and 4.5 s on MySQL (2 busy
// cores, 2026-11-25). With 1,000,000 jobs that were given up, in 1,000 queues, and as many failed
// runs it takes 0.3 s on PostgreSQL, 0.9 s on MariaDB and 1.1 s on MySQL (2026-11-27). A question
// that takes too long is not_looked_at.
//
// | finding              | engines  | what it says                                                |
// |----------------------|----------|-------------------------------------------------------------|
// | unreachable          | all      | nothing answers, or it lets nobody in; or no more           |
// | server               | all      | good: what is at the other end                              |
// | unsuitable           | all      | programs refuse it: a replica, a version, a setting         |
// | weak_durability      | PG, My   | a crash or fail-over could undo a grant                     |
// | clock                | all      | the clocks of this machine and of the server differ         |
// | clear_text           | PG, My   | the connection goes over a network without encryption       |
// | unverified_server    | PG, My   | it is encrypted, and nobody has checked who answers         |
// | isolation            | PostgreSQL | transactions of your own begin at another level           |
// | read_only_default    | PostgreSQL | transactions of your own begin read-only                  |
// | asynchronous_commit  | PostgreSQL | your own commits do not wait for the disk                 |
// | replication          | PG, My   | good: who is waited for, or whose replica it is; a warning: |
// |                      |          | standbys that nobody waits for, a replica that takes writes |
// | patroni              | PostgreSQL | good: it manages the server, how, and what to know of it  |
// | several_writers      | MySQL, MariaDB | a cluster that may be written to at several nodes     |
// | node_not_ready       | MySQL, MariaDB | this node of a cluster has not all of its data        |
// | pooler               | PostgreSQL | good: one stands between; whether by transaction          |
// | connections          | PG, My   | hardly any are left: of the server, of a limit of this      |
// |                      |          | user or, on PostgreSQL, of this database                    |
// | old_snapshot         | PG, My   | a transaction is open for long: nothing dead is removed     |
// | prepared_transaction | PostgreSQL | the same of a prepared one, which no restart ends         |
// | idle_slot            | PostgreSQL | a replication slot that nobody reads keeps what is dead   |
// | dead_rows            | PostgreSQL | more dead rows than live ones in a table of ours          |
// | no_vacuum            | PostgreSQL | autovacuum is off, for the server or for a table of ours  |
// | history_length       | MySQL, MariaDB | InnoDB keeps many old versions of rows                |
// | journal              | SQLite   | not in WAL mode, where readers and writers block each other |
// | write_ahead_log      | SQLite   | it has grown: a reader stays open                           |
// | old_library          | SQLite   | SQLite itself has a fault that can damage the file; good    |
// |                      |          | where the file has no tables but leasehold's                |
// | network_file         | SQLite   | the file is on a network file system: locks may not hold    |
// | schema_missing       | all      | there are no tables                                         |
// | schema_version       | all      | a migration is missing, edited, half applied, or newer      |
// | schema_drift         | all      | a table is not as the migrations make it; of a missing      |
// |                      |          | index with the statement that makes it                      |
// | row_security         | PostgreSQL | a policy hides rows of ours: programs pass them over      |
// | missing_rights       | PG, My   | this user lacks rights that programs need                   |
// | other_installation   | all      | tables of other names, which exclude nobody here            |
// | stuck_session        | all      | live, and its heartbeat is overdue                          |
// | heartbeats           | all      | good: how many a second                                     |
// | clean_up_behind      | all      | rows of the dead stay                                       |
// | history_not_written  | all      | history is on, its triggers are gone; on MySQL and MariaDB  |
// |                      |          | only those are told who have the right TRIGGER              |
// | held_long            | all      | keys are held for longer than `held_longer_than`; 5 of them |
// | slow_queue           | all      | a job has waited for longer than `waiting_longer_than`; of  |
// |                      |          | more than 20 queues the last finding says how many          |
// | paused_queue         | all      | jobs wait in a queue that is paused; as many                |
// | slower_than_usual    | all      | a queue's next job has waited for longer than a minute, and |
// |                      |          | than ten times what the last 100 that completed there have  |
// |                      |          | taken on average, from their enqueuing to their end         |
// | discarded_jobs       | all      | jobs of a queue were given up within a day; up to 1,000 are |
// |                      |          | counted, where one of the 20 that were enqueued last among  |
// |                      |          | those given up there is such a one                          |
// | failed_run           | all      | the last run of a task has failed                           |
// | abandoned_run        | all      | it has begun, and nobody holds its lease any more           |
// | overdue_run          | all      | a fire time of a task has passed, and nobody has started it |
// | schedule_cannot_fire | all      | no fire time of it can be told here: of jobs or of a task   |
// | overdue_schedule     | all      | a schedule of jobs should have fired a minute ago           |
// | not_looked_at        | all      | a question was refused, or not answered in time             |
//
// Findings about a key (diagnose_key):
//
// | finding              | what it says                                                        |
// |----------------------|---------------------------------------------------------------------|
// | never_locked         | good: the key was never locked, or idle for so long that it was     |
// |                      | cleaned up                                                          |
// | free                 | good: nobody has it; who had it last                                |
// | held                 | good: who has it, since when, by what: a session, or a fixed term   |
// | holder_silent        | its holder's heartbeat is overdue; when it will be free             |
// | lock_delay           | its holder has died, and it stays closed for a while                |
// | row_locked           | an open transaction keeps its row: nobody can be granted it         |
// | waiters              | who waits, first come first                                         |
// | not_looked_at        | MySQL, MariaDB: with no right but SELECT it is not known whether an |
// |                      | open transaction shares its row                                     |
//
// Errors: invalid_argument for settings out of range; std::bad_alloc. diagnose_key also throws what
// inspect.hpp says, since without the tables it knows nothing about a key.
//
// Threads: safe.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"
#include "leasehold/session_info.hpp"

namespace leasehold {

// A finding of the doctor has one of these weights.
enum class severity {
    good = 0,     // for people to know
    warning = 1,  // it works, and may fail when it matters
    error = 2,    // programs fail, or a promise does not hold
};

// "good", "warning", "error".
LEASEHOLD_EXPORT const char* name_of(severity of) noexcept;

// The doctor reports each fact that it has found in this form.
struct finding {
    leasehold::severity severity = leasehold::severity::good;
    std::string name{};    // one of the above
    std::string what{};    // the finding, in one sentence
    std::string why{};     // why it matters; empty if it is good
    std::string remedy{};  // a command or a statement that helps; empty if it is good
};

// The doctor warns of what is older, longer or further off than these settings allow.
struct diagnosis_settings {
    // The times after which it is worth a warning. Each of them is 1 s to 100 years.
    std::chrono::seconds held_longer_than{std::chrono::hours{24}};
    std::chrono::seconds waiting_longer_than{std::chrono::minutes{10}};  // an available job
    std::chrono::seconds snapshot_older_than{std::chrono::minutes{10}};
    std::chrono::seconds dead_longer_than{std::chrono::minutes{10}};  // rows not cleaned up
    // To the server's clock, beyond the round trip; 1 ms to a day.
    std::chrono::milliseconds clock_difference{2000};
    int connections_percent = 90;                       // of those that the server lets in
    std::int64_t max_dead_rows = 50'000;                // of a table, and twice its live rows
    std::int64_t max_history_length = 1'000'000;        // of InnoDB
    std::int64_t max_slot_bytes = 1024L * 1024 * 1024;  // kept for a slot that nobody reads
    std::uint64_t max_log_bytes = 256UL * 1024 * 1024;  // of SQLite's write-ahead log
};

// In the order of the table above; findings of one name in the order of their subjects.
LEASEHOLD_EXPORT std::vector<finding> diagnose(
    const database& db, const diagnosis_settings& settings = {}
);

// Everything known of one key, with what follows from it.
struct key_diagnosis {
    std::optional<lock_info> lock{};        // of the oldest holder, or the last one; see describe()
    std::vector<lock_info> holders{};       // oldest grant first
    std::optional<session_info> session{};  // of the oldest holder; nothing for a fixed term
    std::vector<waiter_info> waiters{};     // first come first; see list_waiters()
    std::optional<row_lock_info> row_lock{};
    std::vector<finding> findings{};
};

LEASEHOLD_EXPORT key_diagnosis diagnose_key(const database& db, const key& name);

// The worst of them; good if there is none.
LEASEHOLD_EXPORT severity worst_of(const std::vector<finding>& findings) noexcept;

}  // namespace leasehold
