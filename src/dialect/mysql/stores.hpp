#pragma once
// What the stores of MySQL and MariaDB share: words of their statements, and how they send.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "leasehold/database.hpp"
#include "leasehold/error.hpp"
#include "store/store.hpp"

namespace leasehold::mysql_dialect {

std::unique_ptr<lock_store> make_lock_store(const table_names& names, engine which);
std::unique_ptr<session_store> make_session_store(const table_names& names, engine which);
std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names, engine which);
std::unique_ptr<schema_store> make_schema_store(const table_names& names);
std::unique_ptr<custody_store> make_custody_store(const table_names& names, engine which);
std::unique_ptr<run_store> make_run_store(const table_names& names, engine which);
std::unique_ptr<claim_store> make_claim_store(engine which);

// A statement with its names and the words of store.cpp filled in: {now}, {free}, {proved_dead} …
std::string statement(std::string_view text, const table_names& names, engine which);

// A packet whose last statement reports what the others did. An error may then come after the
// change was committed, and is passed on as one whose outcome is unknown unless it rules that out.
result send_packet(connection& on, std::string_view packet, const parameters& values);

// "?, ?, ?"
std::string placeholders(std::size_t count);

// A deadlock rolled everything back and may not happen again. A lock wait that ran out (1205) is
// not repeated: it has used up the time of the call.
inline constexpr int deadlock_code = 1213;
inline constexpr int deadlock_attempts_max = 4;

template <typename Operation>
auto despite_deadlocks(Operation&& operation) {
    for (int attempt = 1;; ++attempt) {
        try {
            return operation();
        } catch (const error& failure) {
            if (failure.native_code() != deadlock_code || attempt == deadlock_attempts_max) throw;
        }
    }
}

// A transaction that is rolled back unless it was committed.
class transaction_scope {
public:
    explicit transaction_scope(connection& on) : on_(on) { on_.begin(); }
    transaction_scope(const transaction_scope&) = delete;
    transaction_scope& operator=(const transaction_scope&) = delete;
    ~transaction_scope() {
        if (!is_over_) on_.rollback();
    }

    void commit() {
        is_over_ = true;
        try {
            on_.commit();
        } catch (...) {
            on_.rollback();
            throw;
        }
    }

private:
    connection& on_;
    bool is_over_ = false;
};

}  // namespace leasehold::mysql_dialect
