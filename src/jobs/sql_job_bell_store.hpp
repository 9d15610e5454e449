#pragma once
// The bells of workers, which all engines keep alike.
#include "jobs/job_bell_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_job_bell_store final : public job_bell_store, protected sql_store {
public:
    explicit sql_job_bell_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), jobs_sql, "job_bell") {}

    void add(
        connection& on,
        const std::vector<std::string>& queues,
        const session_id& whose,
        const job_bell& which
    ) override;
    void remove(connection& on, const std::vector<std::string>& queues, const owner_id& bell)
        override;
    std::vector<job_bell> list(
        connection& on, std::string_view queue, const owner_id& from, int limit
    ) override;
    void prune(connection& on, std::string_view queue) override;
};

}  // namespace leasehold
