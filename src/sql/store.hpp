#pragma once
// The seam between what leasehold promises and how one engine keeps it: the stores of a dialect.
//
// Thread rule and MUSTs: see each store. Made by src/sql/<engine>/store.cpp and chosen in
// src/database/database.cpp, the only file that names all dialects.
#include <memory>

#include "leasehold/lock_kind.hpp"

namespace leasehold {

class health_store;
class history_store;
class hold_store;
class holder_store;
class job_bell_store;
class job_need_store;
class job_queue_store;
class job_schedule_store;
class job_store;
class multi_lock_store;
class run_store;
class schema_store;
class session_store;
class table_store;
class waiter_store;

// The stores are only named here, so that a change of one concerns only the files that use it.
struct store {
    store() noexcept;
    store(store&&) noexcept;
    store& operator=(store&&) noexcept;
    ~store();

    std::unique_ptr<hold_store> holds;
    std::unique_ptr<session_store> sessions;
    std::unique_ptr<schema_store> schema;
    std::unique_ptr<run_store> runs;
    std::unique_ptr<waiter_store> waiters;
    std::unique_ptr<holder_store> holders;
    std::unique_ptr<multi_lock_store> multi_locks;
    std::unique_ptr<job_store> jobs;
    std::unique_ptr<job_queue_store> job_queues;
    std::unique_ptr<job_schedule_store> job_schedules;
    std::unique_ptr<job_bell_store> job_bells;
    std::unique_ptr<job_need_store> job_needs;
    // The model has none of these: it is no server, and has no triggers or tables of users.
    std::unique_ptr<health_store> health{};
    std::unique_ptr<history_store> history{};
    std::unique_ptr<table_store> tables{};
};

// Calls use(…) with the store of holds of this kind: both stores have functions of these names.
template <class Use>
auto with_store_of(const store& of, lock_kind kind, Use&& use) {
    return kind == lock_kind::mutex ? use(*of.holds) : use(*of.holders);
}

}  // namespace leasehold
