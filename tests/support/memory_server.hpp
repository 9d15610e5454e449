#pragma once
// The model's tables, clock and connections: a database small enough to be seen right.
//
// One mutex guards everything, so each request happens at one instant. The only thing that outlasts
// a request is a transaction's proof: it keeps a lock row from being changed until commit or
// rollback, and a request to change it waits, at most for the statement time-out.
//
// Requests travel as numbered statements through the `connection` they are given, so that a wrapper
// can lose, delay or repeat them as it could any other engine's.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model_engine.hpp"
#include "database/schema_store.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_schedule_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/once.hpp"
#include "session/upkeep_store.hpp"
#include "support/memory_jobs.hpp"

namespace leasehold::testing {

using instant = std::chrono::microseconds;  // on the model's own clock

struct session_row {
    std::string node_info;
    instant started_at{};
    instant heartbeat_at{};
    instant expires_at{};  // dead from this instant on
    std::int64_t notices = 0;
};

struct lock_row {
    std::int64_t fence = 0;
    std::optional<owner_id> owner;      // nothing: free
    std::optional<session_id> session;  // nothing: free, or held for a fixed term
    std::string node_info;              // of the last holder
    std::int64_t reentrant_count = 0;
    instant changed_at{};
    std::optional<instant> expires_at;  // end of a fixed term
    int kind = 1;                       // see lock_kind.hpp
    std::int64_t last_ticket = 0;       // 0: nobody waits
    std::chrono::microseconds lock_delay{0};
    std::int64_t revocations = 0;         // requests to this holder to let go
    std::optional<std::string> metadata;  // the holder's words
    std::set<const connection*> provers;  // whose open transactions proved this hold
    // The owner it has once a transaction commits, which is one of the provers.
    struct move {
        const connection* writer = nullptr;
        owner_id to;
    } moving;
    std::int64_t capacity = 0;
    std::int64_t arrived = 0;
};

struct holder_row {
    session_id session;
    int bits = 0;
    std::int64_t permits = 0;
    std::int64_t fence = 0;  // 0: it only waits
    std::string node_info;
    instant granted_at{};
    std::set<const connection*> provers;
};

struct run_row {
    std::string schedule_text;
    schedule::instant tick{};
    std::int64_t token = 0;
    owner_id owner;
    std::string node_info;
    instant started_at{};
    instant opens_at{};
    std::optional<instant> finished_at;
    run_result result;
    // An end that was written in a transaction which has not ended.
    struct uncommitted {
        const connection* writer = nullptr;
        instant finished_at{};
        run_result result;
    } ending;
};

// The progress of a task of the clean-up, see upkeep_store.hpp.
struct upkeep_row {
    std::int64_t turn = 0;
    instant turned_at{};
    std::int64_t unfinished = 0;
    std::string place;
    std::int64_t passes = 0;
    instant sweeps_to{};  // what ended before is gone when this pass is through
    instant swept_to{};   // what ended before is gone
};

struct waiter_row {
    owner_id owner;
    session_id session;
    std::string node_info;
    std::optional<std::chrono::microseconds> fixed_term;
    std::chrono::microseconds lock_delay{0};
    std::string metadata;
    std::string wakeup_address;
    std::chrono::microseconds queued_at{0};
};

// The highest token of a resource: committed, and written in a transaction that has not ended.
struct fence_row {
    std::int64_t fence = 0;
    std::int64_t written = 0;
    const connection* writer = nullptr;
};

// A schedule as it is committed, and as it was written in a transaction that has not ended.
struct schedule_versions {
    std::optional<job_schedule_row> committed;
    std::optional<job_schedule_row> written;
    const connection* writer = nullptr;
};

struct subscriber_row {
    session_id session;
    std::string address;
};

// A job's need of another job; the key of the map has both.
struct need_row {
    dependency_until until = dependency_until::completed;
    const connection* writer = nullptr;  // where its transaction has not ended
};

struct memory_tables {
    instant now{};  // read when the request is carried out, and again after every wait
    std::map<session_id, session_row> sessions;
    std::map<std::string, lock_row> locks;                               // by key, in byte order
    std::map<std::string, run_row> runs;                                 // by name, in byte order
    std::map<std::pair<std::string, std::int64_t>, waiter_row> waiters;  // by key and ticket
    std::map<std::pair<std::string, std::string>, holder_row> holders;   // by key and owner's bytes
    std::map<upkeep_task, upkeep_row> upkeep{
        {upkeep_task::dead_locks, {}},
        {upkeep_task::dead_holders, {}},
        {upkeep_task::dead_waiters, {}},
        {upkeep_task::old_sessions, {}},
        {upkeep_task::idle_locks, {}}};
    std::int64_t fence_mark = 0;
    std::int64_t incarnation = 1;             // another one after each start, see session_store.hpp
    std::map<std::string, fence_row> fences;  // by resource
    std::map<job_id, job_versions> jobs;
    job_id last_job = 0;
    std::map<std::string, queue_row> queues;  // by name, in byte order
    std::map<std::pair<job_id, job_id>, need_row> needs;
    std::map<std::string, schedule_versions> schedules;  // by name, in byte order
    std::map<std::pair<std::string, owner_id>, subscriber_row> subscribers;  // by queue and id
    std::optional<std::vector<migration_record>> migrations;
    const connection* migrator = nullptr;
    // The row of the user's own, see conformance/backend.hpp: committed, and written in a
    // transaction that has not ended.
    std::int64_t counter = 0;
    std::int64_t counter_written = 0;
    const connection* counter_writer = nullptr;
    std::int64_t writes = 0;  // requests that changed anything
};

// The rows written by an open transaction count from now on, or are undone.
void end_schedules_of(memory_tables& tables, const connection& whose, bool commit);
void end_needs_of(memory_tables& tables, const connection& whose, bool commit);

class memory_server : public std::enable_shared_from_this<memory_server> {
public:
    // Carries a request out and answers true, or false where it must wait for somebody's
    // transaction to end and be asked again.
    using request = std::function<bool(memory_tables&, const connection& from)>;

    memory_server();

    std::unique_ptr<connection> connect();
    // Tells this model from others.
    const std::string& place() const noexcept { return place_; }

    // Sends `attempt` as one statement over `on`, whatever wraps it. The attempt must own what it
    // needs: a statement whose client gave up may be carried out later.
    template <class Answer>
    Answer ask(
        connection& on,
        std::string_view name,
        std::function<std::optional<Answer>(memory_tables&, const connection&)> attempt
    ) {
        const auto answer = std::make_shared<std::optional<Answer>>();
        const auto number = post([answer, attempt](memory_tables& tables, const connection& from) {
            *answer = attempt(tables, from);
            return answer->has_value();
        });
        on.execute(name, {number});
        return std::move(answer->value());
    }

    // "SELECT n" and "UPDATE n" of the user's own row, the second in a transaction: it waits for
    // other writers of the row.
    std::int64_t read_counter(connection& on);
    void write_counter(connection& inside, std::int64_t number);

    // Looks at, or changes, the tables behind everybody's back.
    template <class Use>
    auto with_tables(Use&& use) {
        const std::lock_guard guard{mutex_};
        tables_.now = now();
        changed_.notify_all();
        return std::forward<Use>(use)(tables_);
    }
    void advance(std::chrono::microseconds by);
    // Waits, at most `timeout`, until `holds` is true of the tables.
    bool wait_until(
        const std::function<bool(const memory_tables&)>& holds, std::chrono::milliseconds timeout
    );

private:
    friend class memory_connection;

    std::int64_t post(request what);
    void carry_out(std::int64_t number, const connection& from, std::chrono::milliseconds limit);
    void end_transaction(const connection& whose, bool commit);
    instant now() const;

    const std::string place_ = "the model " + identity::random().text();
    std::mutex mutex_;
    std::condition_variable_any changed_;
    memory_tables tables_;
    // Its wall clock shows dates: some years after 1970.
    std::chrono::microseconds advanced_ = std::chrono::hours{24 * 20'000};
    std::map<std::int64_t, request> posted_;
    std::int64_t last_posted_ = 0;
};

class memory_connection final : public connection {
public:
    explicit memory_connection(std::shared_ptr<memory_server> to) : to_(std::move(to)) {}
    ~memory_connection() override { rollback(); }

    const server_info& server() const noexcept override { return server_; }
    connection_state state() noexcept override { return state_; }
    result execute(std::string_view sql, const parameters& values) override;
    result execute_script(std::string_view sql, const parameters& values) override;
    void begin() override;
    void commit() override;
    void rollback() noexcept override;
    void set_statement_timeout(std::chrono::milliseconds limit) override { limit_ = limit; }

private:
    void require(connection_state wanted, const char* what) const;

    const std::shared_ptr<memory_server> to_;
    const server_info server_{model_engine, 10000, "the model"};
    connection_state state_ = connection_state::idle;
    std::chrono::milliseconds limit_{10'000};
};

}  // namespace leasehold::testing
