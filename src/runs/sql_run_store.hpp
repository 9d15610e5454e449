#pragma once
// Records of run-once tasks, and highest tokens of resources, as far as the engines keep them
// alike.
#include "runs/run_store.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_run_store : public run_store, protected sql_store {
public:
    explicit sql_run_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), "run") {}

    run_look look(connection& on, const key& name) override;
    bool claim(connection& on, const run_claim& wanted) override;
    bool finish(connection& on, const run_finish& what) override;
    std::vector<run_look> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override;
    bool forget(connection& on, const key& name) override;
    bool admit(connection& in, const key& resource, fencing_token token) override;
    std::optional<fencing_token> highest(connection& on, const key& resource) override;

protected:
    // name, token, owner, node_info, tick, hold_at_least, may_repeat
    static parameters values_of_claim(const run_claim& wanted);
};

}  // namespace leasehold
