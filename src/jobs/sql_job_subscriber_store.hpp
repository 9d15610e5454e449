#pragma once
// The subscribers of queues, which all engines keep alike.
#include "jobs/job_subscriber_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_job_subscriber_store final : public job_subscriber_store, protected sql_store {
public:
    explicit sql_job_subscriber_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), jobs_sql, "job_subscriber") {}

    void add(
        connection& on,
        const std::vector<std::string>& queues,
        const session_id& whose,
        const job_subscriber& which
    ) override;
    void remove(connection& on, const std::vector<std::string>& queues, const owner_id& id)
        override;
    std::vector<job_subscriber> list(
        connection& on, std::string_view queue, const owner_id& from, int limit
    ) override;
    void prune(connection& on, std::string_view queue) override;
};

}  // namespace leasehold
