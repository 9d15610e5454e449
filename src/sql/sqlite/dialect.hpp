#pragma once
// The common parts of the SQLite stores: their makers, the way statements are carried out, the
// write transaction, and the check for a reboot.
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "sql/sql_store.hpp"
#include "sql/sqlite/boot_clock.hpp"

namespace leasehold::sqlite_dialect {

// Checks whether the rows in the database are of this boot. The first write of another boot frees
// everything; reads before that take everything for free.
class boot_check {
public:
    explicit boot_check(const table_names& names);

    // Called before any write. Costs nothing once it has passed: a process does not survive a boot.
    void enter(connection& on);
    // Checks inside a write transaction, and every time, because the file may have been replaced:
    // the next process must not take this process's rows for rows of another boot. Each start of a
    // session calls it, and nothing is held without a session. The caller calls note_entered() once
    // the transaction is committed.
    void enter_inside(connection& transaction);
    void note_entered() noexcept { has_entered_ = true; }
    const std::string& boot_id() const noexcept { return boot_id_; }

private:
    bool is_ours(connection& on);

    const statements texts_;
    const std::string boot_id_;
    std::atomic<bool> has_entered_ = false;
};

class dialect final : public sql_dialect {
public:
    explicit dialect(const table_names& names)
        : sql_dialect(engine::sqlite, names), boot_(std::make_unique<boot_check>(names)) {}

    result read(connection& on, const statement& what, const parameters& values) const override;
    result write(connection& on, const statement& what, const parameters& values) const override;
    result inside(connection& on, const statement& what, const parameters& values) const override {
        return read(on, what, values);
    }
    void enter(connection& on) const override { boot_->enter(on); }
    boot_check& boot() const noexcept { return *boot_; }

    // `now` is the value of {now}.
    result run(connection& on, const statement& what, const parameters& values, std::int64_t now)
        const;

private:
    const std::unique_ptr<boot_check> boot_;
};

// BEGIN IMMEDIATE: takes the write lock at once. A deferred transaction that reads first and writes
// later fails at once when another wrote in between, whatever the busy time-out.
// If the caller has a transaction open, it takes part in that and leaves its end to the caller.
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
    // The clock, read once, and after the write lock was taken.
    std::int64_t now() const {
        if (now_ == 0) now_ = boot_clock::now_microseconds();
        return now_;
    }
    void commit() {
        if (is_open_) on_.commit();
        is_open_ = false;
    }

private:
    connection& on_;
    bool is_open_;
    mutable std::int64_t now_ = 0;  // not read yet
};

using shared_dialect = std::shared_ptr<const dialect>;

// The write transaction that several statements of a store share.
class writing {
public:
    // Statements before begin() are reads without the write lock.
    writing(const dialect& how, const statements& texts, connection& on)
        : how_(how), texts_(texts), on_(on) {
        how_.enter(on_);
    }
    void begin() { transaction_.emplace(on_); }
    void commit() { transaction_->commit(); }
    result operator()(std::string_view name, const parameters& values) const {
        return (*this)(texts_[name], values);
    }
    result operator()(const statement& what, const parameters& values) const {
        const auto now = transaction_ ? transaction_->now() : boot_clock::now_microseconds();
        return how_.run(on_, what, values, now);
    }

private:
    const dialect& how_;
    const statements& texts_;
    connection& on_;
    std::optional<write_transaction> transaction_;
};

}  // namespace leasehold::sqlite_dialect
