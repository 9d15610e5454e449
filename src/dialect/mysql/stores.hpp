#pragma once
// What the stores of MySQL and MariaDB share: words of their statements, and how they send.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "leasehold/database.hpp"
#include "leasehold/error.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "store/store.hpp"

namespace leasehold::mysql_dialect {

std::unique_ptr<lock_store> make_lock_store(const table_names& names, engine which);
std::unique_ptr<session_store> make_session_store(const table_names& names, engine which);
std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names, engine which);
std::unique_ptr<schema_store> make_schema_store(const table_names& names);
std::unique_ptr<custody_store> make_custody_store(const table_names& names, engine which);
std::unique_ptr<run_store> make_run_store(const table_names& names, engine which);
std::unique_ptr<pending_store> make_pending_store(const table_names& names, engine which);
std::unique_ptr<claim_store> make_claim_store(engine which);
std::unique_ptr<waiter_store> make_waiter_store(const table_names& names, engine which);
std::unique_ptr<holder_store> make_holder_store(const table_names& names, engine which);
std::unique_ptr<multi_lock_store> make_multi_lock_store(const table_names& names, engine which);
std::unique_ptr<fence_store> make_fence_store(const table_names& names);

inline value as_value(const key& name) {
    return blob{name.name()};
}
inline value as_value(const identity& id) {
    return blob{id.bytes()};
}
inline value as_value(std::chrono::microseconds duration) {
    return std::int64_t{duration.count()};
}

// Of an insert that somebody else's was faster than: ER_DUP_ENTRY.
inline constexpr int duplicate_key_code = 1062;

// A statement with its names and the words of store.cpp filled in: {now}, {free}, {proved_dead} …
std::string statement(std::string_view text, const table_names& names, engine which);

// A packet whose last statement reports what the others did. An error may then come after the
// change was committed, and is passed on as one whose outcome is unknown unless it rules that out.
result send_packet(connection& on, std::string_view packet, const parameters& values);

// The same for a packet with a START TRANSACTION and a COMMIT of its own: one that failed between
// them is rolled back.
result send_transaction(connection& on, std::string_view packet, const parameters& values);

// "READ-COMMITTED", … of the session: the level of the transaction itself cannot be asked for
// without the PROCESS privilege.
std::string session_isolation(connection& inside);

// "?, ?, ?"
std::string placeholders(std::size_t count);

// The text with as many of them in place of each {keys}.
std::string for_keys(std::string text, std::size_t count);

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

}  // namespace leasehold::mysql_dialect
