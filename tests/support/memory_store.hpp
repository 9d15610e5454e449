#pragma once
// The model: all stores over memory, as plain as a specification. The SQL of an engine is right
// where it does what the model does; tests/conformance holds every engine to both.
//
//   memory_database model;
//   leasehold::database db = model.open();
//   model.age_session(session.id(), 1h);
//
// Threads: safe, all of it; every handle opened shares the tables.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "leasehold/database.hpp"
#include "leasehold/key.hpp"
#include "sql/store_set.hpp"
#include "support/memory_server.hpp"

namespace leasehold {

class fence_store;
class hold_store;
class holder_store;
class job_subscriber_store;
class job_need_store;
class job_queue_store;
class job_schedule_store;
class job_store;
class migration_store;
class multi_lock_store;
class run_store;
class session_store;
class upkeep_store;
class waiter_store;

}  // namespace leasehold

namespace leasehold::testing {

// The stores of the model, on connections of `of`, however wrapped.
std::unique_ptr<store_set> make_memory_stores(const std::shared_ptr<memory_server>& of);
std::unique_ptr<migration_store> make_memory_migration_store(std::shared_ptr<memory_server> of);
std::unique_ptr<upkeep_store> make_memory_upkeep_store(std::shared_ptr<memory_server> of);
std::unique_ptr<hold_store> make_memory_hold_store(std::shared_ptr<memory_server> of);
std::unique_ptr<fence_store> make_memory_fence_store(std::shared_ptr<memory_server> of);
std::unique_ptr<run_store> make_memory_run_store(std::shared_ptr<memory_server> of);
std::unique_ptr<waiter_store> make_memory_waiter_store(std::shared_ptr<memory_server> of);
std::unique_ptr<holder_store> make_memory_holder_store(std::shared_ptr<memory_server> of);
std::unique_ptr<multi_lock_store> make_memory_multi_lock_store(std::shared_ptr<memory_server> of);
std::unique_ptr<job_store> make_memory_job_store(std::shared_ptr<memory_server> of);
std::unique_ptr<job_queue_store> make_memory_job_queue_store(std::shared_ptr<memory_server> of);
std::unique_ptr<job_schedule_store> make_memory_job_schedule_store(std::shared_ptr<memory_server> of
);
std::unique_ptr<job_subscriber_store> make_memory_job_subscriber_store(
    std::shared_ptr<memory_server> of
);
std::unique_ptr<job_need_store> make_memory_job_need_store(std::shared_ptr<memory_server> of);

class memory_database {
public:
    // Puts something between the library and the model's connections.
    using wrapper = std::function<connector(connector)>;

    memory_database() : server_(std::make_shared<memory_server>()) {}

    // A handle with a pool of its own, as another process would have it.
    database open(database_settings settings = {}, const wrapper& wrap = nullptr) const;
    memory_server& server() const noexcept { return *server_; }
    std::unique_ptr<store_set> stores() const { return make_memory_stores(server_); }
    std::unique_ptr<connection> connect() const { return server_->connect(); }

    // The database's clock goes on by so much; or as if it had, for one row alone.
    void advance(std::chrono::microseconds by) { server_->advance(by); }
    void age_session(const session_id& id, std::chrono::microseconds by);
    void age_lock(const key& name, std::chrono::microseconds by);
    void age_run(const key& name, std::chrono::microseconds by);
    void age_job(job_id id, std::chrono::microseconds by);
    void age_queue(const std::string& name, std::chrono::microseconds by);
    void remove_session_row(const session_id& id);

    // All there is; and that again, on a server that was started anew, or does not say so.
    memory_tables copy() const;
    void put_back(const memory_tables& older, bool says_so = true);

    // True when anybody has a live hold on the key now, by the model's clock.
    bool is_held(const key& name) const;
    // Waits for the key to be free; false when `timeout` ran out first.
    bool wait_until_free(const key& name, std::chrono::milliseconds timeout) const;

private:
    std::shared_ptr<memory_server> server_;
};

// A session row that is missing is neither.
bool is_live_session(const memory_tables& tables, const session_id& id);
bool is_dead_session(const memory_tables& tables, const session_id& id);

// A live hold: an owner whose session is not proved dead and whose term, if any, has not passed. A
// session row that is missing counts as alive.
bool is_live_hold(const memory_tables& tables, const lock_row& row);

// Nobody holds it, nor did anybody who died less than the row's lock_delay ago.
bool is_takeable(const memory_tables& tables, const lock_row& row);

// The shortest way to one handle on a model of its own.
inline database open_memory_database(database_settings settings = {}) {
    return memory_database{}.open(std::move(settings));
}

}  // namespace leasehold::testing
