#pragma once
// The upkeep of queues and managing jobs, as far as all engines do it alike. The differences:
// src/jobs/<engine>/job_queue_store.cpp.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_queue_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_job_queue_store : public job_queue_store, protected sql_store {
public:
    explicit sql_job_queue_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), jobs_sql, "job_queue") {}

    bool begin_maintenance(connection& on, std::string_view queue, std::chrono::microseconds every)
        override;
    std::map<std::string, std::int64_t> count_available(
        connection& on, std::string_view queue, const std::optional<std::string>& kind, int max_rows
    ) override;
    std::int64_t prune(connection& on, int max_rows, std::size_t kept_back) override;
    retry_outcome retry(connection& on, job_id id) override;
    job_change_outcome change(connection& on, job_id id, const job_changes& what) override;
    void hurry(connection& on, job_id id) override { write(on, "hurry", {id}); }
    delete_outcome remove(connection& on, job_id id) override;
    std::optional<job_info> describe(connection& on, job_id id) override;
    std::vector<job_info> list(connection& on, const job_filter& filter, const id_range& among)
        override;
    id_range part_of(connection& on, const id_range& among, job_order order, int jobs) override;
    std::optional<queue_row> find_queue(connection& on, std::string_view name) override;
    void set_limits(connection& on, std::string_view name, const queue_limits& limits) override;
    void set_paused(connection& on, std::string_view name, bool is_paused) override;
    std::vector<std::string> queue_names(connection& on) override;
    queue_info describe_queue(connection& on, std::string_view name) override;
    std::vector<queue_info> describe_queues(connection& on) override;

protected:
    // Reads, from column `first` on, "available, next due in, next fire in, maintained ago", of
    // which all but the first may be null, "some are needed, some wait, some are blocked", and the
    // settings of the queue.
    static queue_look look_in(const row& from, std::size_t first);
    // nullopt if there is no such job.
    std::optional<job_state> state_of(connection& on, job_id id) const;
    // Throws, after others have changed the job between all looks at it.
    [[noreturn]] static void give_up_on(job_id id, const char* what_to_repeat);
};

}  // namespace leasehold
