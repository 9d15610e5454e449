#pragma once
// Records of run-once tasks, as far as the engines keep them alike.
#include "runs/run_store.hpp"
#include "runs/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_run_store : public run_store, protected sql_store {
public:
    explicit sql_run_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), runs_sql, "run") {}

    run_look look(connection& on, const key& name) override;
    bool claim(connection& on, const run_claim& wanted) override;
    bool finish(connection& on, const run_finish& what) override;
    std::vector<run_look> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override;
    bool forget(connection& on, const key& name) override;

protected:
    // name, token, owner, node_info, tick, hold_at_least, may_repeat
    static parameters values_of_claim(const run_claim& wanted);
};

}  // namespace leasehold
