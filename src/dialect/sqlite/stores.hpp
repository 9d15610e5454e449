#pragma once
// What the SQLite stores share: their makers, the write transaction, and the check for a reboot.
#include <atomic>
#include <memory>
#include <string>

#include "dialect/sql_text.hpp"
#include "dialect/sqlite/boot_clock.hpp"
#include "store/store.hpp"

namespace leasehold::sqlite_dialect {

// BEGIN IMMEDIATE: takes the write lock at once. A deferred transaction that reads first and writes
// later fails at once when another wrote in between, whatever the busy time-out.
// Where one is open already, the caller's, it takes part in that and leaves its end to the caller.
class write_transaction {
public:
    explicit write_transaction(connection& on)
        : on_(on), is_open_(on.state() == connection_state::idle) {
        if (is_open_) on_.begin();
    }
    ~write_transaction() {
        if (is_open_) on_.rollback();
    }
    write_transaction(const write_transaction&) = delete;
    write_transaction& operator=(const write_transaction&) = delete;
    void commit() {
        if (is_open_) on_.commit();
        is_open_ = false;
    }

private:
    connection& on_;
    bool is_open_;
};

// Whether the rows in the database are of this boot. The first write of another boot frees
// everything; reads before that take everything for free.
class boot_check {
public:
    explicit boot_check(const table_names& names);

    // Before any write. Costs nothing once it has passed: a process does not survive a reboot.
    void enter(connection& on);
    // The same inside a write transaction, and every time: the tables may be others than those that
    // were entered, and the next process must not take what this one has for that of another boot.
    // Sessions begin with it, and nothing is held without one. Once the transaction is committed:
    // note_entered().
    void enter_inside(connection& transaction);
    void note_entered() noexcept { has_entered_ = true; }
    const std::string& boot_id() const noexcept { return boot_id_; }

private:
    bool is_ours(connection& on);

    const std::string read_;
    const std::string free_locks_;
    const std::string end_queues_;
    const std::string remove_holders_;
    const std::string end_sessions_;
    const std::string begin_upkeep_;
    const std::string enter_;
    const std::string boot_id_;
    std::atomic<bool> has_entered_ = false;
};

std::unique_ptr<lock_store> make_lock_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<session_store> make_session_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<upkeep_store> make_upkeep_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<schema_store> make_schema_store(const table_names& names);
std::unique_ptr<custody_store> make_custody_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<run_store> make_run_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<waiter_store> make_waiter_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<pending_store> make_pending_store(const table_names& names);
std::unique_ptr<claim_store> make_claim_store();
std::unique_ptr<holder_store> make_holder_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<multi_lock_store> make_multi_lock_store(
    const table_names& names, std::shared_ptr<boot_check> boot
);
std::unique_ptr<fence_store> make_fence_store(const table_names& names);

}  // namespace leasehold::sqlite_dialect
