#pragma once
// The highest tokens of resources, on all engines.
#include "locks/fence_store.hpp"
#include "locks/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_fence_store final : public fence_store, sql_store {
public:
    explicit sql_fence_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), locks_sql, "fence") {}

    bool admit(connection& in, const key& resource, fencing_token token) override;
    std::optional<fencing_token> highest(connection& on, const key& resource) override;
};

}  // namespace leasehold
