#pragma once
// Private to the PostgreSQL dialect: the makers of its stores, and what their texts share.
//
// Every store holds its statements with the table names filled in, and nothing else.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "leasehold/database.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "store/store.hpp"

namespace leasehold::postgres_dialect {

std::unique_ptr<lock_store> make_lock_store(const table_names& names);
std::unique_ptr<session_store> make_session_store(const table_names& names);
std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names);
std::unique_ptr<schema_store> make_schema_store(const table_names& names);
std::unique_ptr<custody_store> make_custody_store(const table_names& names);
std::unique_ptr<run_store> make_run_store(const table_names& names);
std::unique_ptr<pending_store> make_pending_store(const table_names& names);
std::unique_ptr<claim_store> make_claim_store();
std::unique_ptr<waiter_store> make_waiter_store(const table_names& names);
std::unique_ptr<holder_store> make_holder_store(const table_names& names);
std::unique_ptr<multi_lock_store> make_multi_lock_store(const table_names& names);
std::unique_ptr<fence_store> make_fence_store(const table_names& names);

inline value bytes_of(const identity& id) {
    return value{blob{id.bytes()}};
}
inline value bytes_of(const std::string& text) {
    return value{blob{text}};
}

// Durations travel as whole microseconds. Centuries are cut, because the sum with a clock would
// leave the range of timestamptz and fail.
inline value microseconds_of(std::chrono::microseconds duration) {
    constexpr std::chrono::microseconds longest = std::chrono::hours{24L * 365 * 1000};
    return value{std::int64_t{std::clamp(duration, std::chrono::microseconds{0}, longest).count()}};
}

}  // namespace leasehold::postgres_dialect
