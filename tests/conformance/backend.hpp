#pragma once
// The suites' knowledge of one backend. Each on_<backend>.cpp defines make_backend(); the suites
// know no engine, no SQL and no driver.
//
// A capability never excuses a safety property, only a feature or a tolerance.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/error.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/job.hpp"
#include "leasehold/key.hpp"
#include "leasehold/session.hpp"
#include "support/gate.hpp"

namespace leasehold::testing {

// A place where migrating must fail, and leave nothing behind.
struct forbidden_place {
    struct outcome {
        std::optional<error> thrown;
        std::vector<std::string> left;  // names that begin with the prefix
    };
    using attempt = std::function<void(const database&)>;

    std::string why;
    errc expected;
    std::function<outcome(const std::string& prefix, const attempt&)> run;
};

struct backend {
    std::string name;

    // Another handle with a pool of its own, as another process would have it, on the same tables:
    // its user has the rights of grants_sql() and no more.
    std::function<database(database_settings)> open;

    // Opens the database as the owner of the tables, who may see what a program may not.
    std::function<database(database_settings)> open_as_owner;

    // Opens the database through a gate that the test can shut.
    std::function<database(std::shared_ptr<gate>)> open_through;

    // The owner opens tables of another prefix, of which there are none at first (on the model: all
    // of them), with something between the library and its connections, or nothing.
    using wrapper = std::function<connector(connector)>;
    using told = std::shared_ptr<observer>;
    std::function<database(const std::string& prefix, const wrapper&, told)> open_told_with_prefix;
    database open_with_prefix(const std::string& prefix, const wrapper& between) const {
        return open_told_with_prefix(prefix, between, nullptr);
    }

    // Makes another database of the same engine with the same tables, calls with a handle to it,
    // and drops it.
    using visit = std::function<void(const database&)>;
    std::function<void(const visit&)> run_elsewhere;

    // The objects in the database whose names begin with the prefix: tables, indexes, constraints.
    // Not set on the model, which has no SQL; nor has it places.
    std::function<std::vector<std::string>(const std::string& prefix)> names_with_prefix;
    std::vector<forbidden_place> forbidden_places;

    // Two write transactions can be open at once. This is false only on SQLite.
    bool has_concurrent_writers = true;

    // A commit, or a notification, can wake a waiter in another process. Where this is false, such
    // a waiter asks the database at intervals.
    bool has_notifications = false;

    // Changes one row as if the database's clock had gone on by so much. Live heartbeats of a
    // session undo it, so suites use sessions whose next heartbeat is far away.
    std::function<void(const session_id&, std::chrono::microseconds)> age_session;
    std::function<void(const key&, std::chrono::microseconds)> age_lock;
    // Does so with a run-once task: with the instants at which the task started, ended and opens
    // again, but not with its tick.
    std::function<void(const key&, std::chrono::microseconds)> age_run;

    // Does so with a job: with the instants at which it is due and was claimed or, if the job has
    // ended, at which it ended and will be removed. In a queue these are the instant until which
    // the started jobs are paid for, and that of the last maintenance.
    std::function<void(job_id, std::chrono::microseconds)> age_job;
    std::function<void(const std::string& queue, std::chrono::microseconds)> age_queue;

    // Removes a session's row behind everybody's back.
    std::function<void(const session_id&)> remove_session_row;

    // The owner makes leasehold's tables, and a row of the user's own, with the rights on both.
    std::function<void()> make_tables;

    // Reads and changes that row, for writes under a lease, in a transaction or not.
    // `increment` is read-modify-write in two statements, so that it can lose updates.
    std::function<void(connection&)> increment_counter;
    std::function<std::int64_t()> read_counter;

    // A number that changes with every write that the database makes durable or visible: a WAL
    // position, a transaction id, or bytes of redo. Empty if the engine does not tell one.
    std::function<std::int64_t()> writes_so_far;
    std::int64_t writes_tolerated_per_1000 = 0;  // what the server writes by itself meanwhile

    // Drops the tables.
    std::function<void()> destroy;
};

// Fails the run where the backend is required and absent; see tests/README.md.
backend make_backend();

// The backend of this process, made on first use.
backend& current();

}  // namespace leasehold::testing
