#pragma once
// The operations that remember grants that have ended: see leasehold/grant_history.hpp. The general
// MUSTs: hold_store.hpp.
//
// Only triggers write the history: no operation of another store knows of it. They MUST NOT lock
// the rows they read, wait for anybody, or fail if the history has a grant of the same key and
// token already (after a fail-over that has lost commits tokens may repeat: the newer grant
// counts).
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/grant_history.hpp"
#include "leasehold/key.hpp"

namespace leasehold {

class sql_dialect;

class history_store {
public:
    virtual ~history_store() = default;
    static std::unique_ptr<history_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Within migration_store::lock(): makes the existing triggers and tables anew.
    virtual void start(connection& on, std::optional<std::chrono::microseconds> keep) = 0;
    virtual void stop(connection& on) = 0;

    // Plain reads.
    virtual grant_history_status status(connection& on) = 0;
    virtual std::vector<grant_record> list(connection& on, const grant_filter& filter) = 0;
    virtual std::vector<grant_record> list_of(
        connection& on, const key& name, const grant_filter& filter
    ) = 0;
};

}  // namespace leasehold
