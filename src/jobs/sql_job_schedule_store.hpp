#pragma once
// The schedules of jobs, which all engines keep alike.
#include "jobs/job_schedule_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_job_schedule_store final : public job_schedule_store, protected sql_store {
public:
    explicit sql_job_schedule_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), jobs_sql, "job_schedule") {}

    job_schedule_look due(connection& on, std::string_view queue, const job_schedule_place& behind)
        override;
    std::optional<std::chrono::microseconds> next_in(
        connection& on, std::string_view queue, schedule::instant behind
    ) override;
    bool advance(connection& in, const job_schedule_row& to) override;
    void note_job(connection& in, std::string_view name, job_id id) override;
    job_schedule_look find(connection& on, std::string_view name) override;
    job_schedule_look list(connection& on, std::string_view after) override;
    bool put(connection& on, const job_schedule_row& row) override;
    bool remove(connection& on, std::string_view name) override;
};

}  // namespace leasehold
