#pragma once
// Jobs that wait for others, which all engines keep alike.
#include "dialect/sql_store.hpp"
#include "store/job_need_store.hpp"

namespace leasehold {

class sql_job_need_store final : public job_need_store, protected sql_store {
public:
    explicit sql_job_need_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), "job_need") {}

    void add(connection& in, const std::vector<job_need>& what) override;
    std::vector<job_need_over> over(connection& on, const std::vector<job_id>& ids) override;
    std::vector<job_need_over> over_behind(connection& on, need_place& place) override;
    void forget(connection& on, const std::vector<job_need_over>& over) override;
    std::int64_t free(connection& on, const std::vector<job_id>& ids) override;
    std::vector<job_id> left_waiting(connection& on, std::string_view queue, job_id& place)
        override;
    bool note_reason(connection& on, job_id id, const std::string& words) override;
    std::vector<job_id> needs_of(connection& on, job_id id, int limit) override;
    bool is_needed(connection& on, job_id id) override;

private:
    // The statement with a list in its text, of at most rows_max.
    statement with(std::string_view name, std::string_view word, const std::string& list) const;
};

}  // namespace leasehold
