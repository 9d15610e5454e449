#pragma once
// The doctor's questions to a database: how it is run, and how our tables do there. Plain reads,
// outside of any transaction. They may take their time, since a person asks them.
//
// The dialect makes the findings that the engines name themselves, since both the question and the
// meaning of its answer are the engine's own; see the table in leasehold/doctor.hpp. A question
// that the user lacks the right to ask MUST be the finding not_looked_at; only a lost connection
// throws.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/doctor.hpp"
#include "leasehold/key.hpp"
#include "leasehold/session_info.hpp"
#include "locks/hold_store.hpp"

namespace leasehold {

class sql_dialect;

class error;

struct session_counts {
    std::int64_t live = 0;
    std::int64_t overdue = 0;  // of these: their heartbeat is older than half of their ttl
    double heartbeats_per_second = 0;
    std::string example{};  // the node_info of the session that is overdue longest
};

struct long_hold {
    std::string key{};
    std::string node_info{};
    std::chrono::microseconds held_for{0};
    std::int64_t holds = 0;  // how many such keys there are in all
};

// Jobs of a queue that were given up of late.
struct discarded_jobs {
    std::string queue{};
    std::int64_t count = 0;
};

// An index of ours, and the statement that makes it.
struct index_maker {
    std::string line{};  // in the form of shape()
    std::string name{};  // whole, without quotes
    std::string statement{};
};

// A queue with an available job.
struct waiting_queue {
    std::string name{};
    std::chrono::microseconds waits{
        0};  // the time since the job that would be claimed next was enqueued
    bool is_paused = false;
};

// The message of a plain read's failure; with the server's text if it has no more than a number.
std::string words_of(const error& failure);

// `at` names the thing that could not be examined. The finding is a warning, unless the cause is
// that the user lacks the right to ask.
finding not_looked_at(std::string_view at, const error& failure);

class health_store {
public:
    virtual ~health_store() = default;
    static std::unique_ptr<health_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Examines the server alone: our tables need not exist.
    virtual std::vector<finding> examine_server(
        connection& on, const diagnosis_settings& settings
    ) = 0;
    // Examines our tables.
    virtual std::vector<finding> examine_tables(
        connection& on, const diagnosis_settings& settings
    ) = 0;

    // Microseconds since 1970 in UTC, read when the question arrives.
    virtual std::chrono::microseconds clock(connection& on) = 0;

    // The server's number of the process that answers on this connection; 0 if one process answers
    // all.
    virtual std::int64_t server_process(connection&) { return 0; }

    // Our tables as they are: a line for each column, index and rule, without the prefix of their
    // names. Tables of other programs with the same prefix may be among them.
    virtual std::vector<std::string> shape(connection& on) = 0;
    // True when shape() says nothing of that table because this user has no right to it.
    virtual bool is_hidden(connection&, const std::string& /*table*/) { return false; }
    // The shape that the migrations make.
    virtual std::vector<std::string> known_shape() const = 0;
    // All indexes of our tables except the primary keys.
    virtual std::vector<index_maker> known_indexes() const { return {}; }
    // Findings about tables whose rows a policy may hide from this user or from others. The caller
    // asks before it reads the tables, because a user of hidden rows finds the tables empty.
    virtual std::vector<finding> hidden_rows(connection&) { return {}; }

    // "INSERT, UPDATE ON leasehold_lock" for each table on which this user lacks a right that
    // migration_store::grants() has.
    virtual std::vector<std::string> missing_rights(connection& on) = 0;

    virtual session_counts count_sessions(connection& on) = 0;
    // Live holds of mutexes, the oldest first, at most `limit`.
    virtual std::vector<long_hold> long_holds(
        connection& on, std::chrono::microseconds longer_than, int limit
    ) = 0;
    // As long_holds() for keys that several can hold, each by its oldest live holder.
    virtual std::vector<long_hold> long_shares(
        connection& on, std::chrono::microseconds longer_than, int limit
    ) = 0;
    // The number of holds whose session ended longer ago, counted up to 1,000: of mutexes, and of
    // other kinds.
    virtual std::int64_t dead_holds(connection& on, std::chrono::microseconds longer_than) = 0;
    virtual std::int64_t dead_shares(connection& on, std::chrono::microseconds longer_than) = 0;
    // nullopt if the key has no row.
    virtual std::optional<session_info> session_of(connection& on, const session_id& id) = 0;
    // The time for which a mutex stays closed whose holder has died or whose term is over; nullopt
    // if it is held, or free.
    virtual std::optional<std::chrono::microseconds> closed_for(
        connection& on, const key& name
    ) = 0;
    // All queues that are paused or whose next job waits for longer, in byte order of names. One
    // statement, which reads some rows for each queue.
    virtual std::vector<waiting_queue> waiting_queues(
        connection& on, std::chrono::microseconds longer_than
    ) = 0;
    // The average time from enqueuing to the end, of the 100 jobs that were enqueued last among
    // those of the queue that have completed and are kept. nullopt if there are none.
    virtual std::optional<std::chrono::microseconds> usual_time(
        connection& on, const std::string& queue
    ) = 0;
    // The queues, in byte order, with jobs that ended within that time. Each queue's count looks at
    // `at_most` jobs that were given up there, those enqueued last. All queues, or one.
    virtual std::vector<discarded_jobs> discarded(
        connection& on, std::chrono::microseconds within, std::int64_t at_most
    ) = 0;
    virtual std::int64_t discarded_of(
        connection& on,
        const std::string& queue,
        std::chrono::microseconds within,
        std::int64_t at_most
    ) = 0;
};

}  // namespace leasehold
