#pragma once
// Jobs that wait for others, which all engines keep alike.
#include <span>
#include <string>
#include <vector>

#include "jobs/job_need_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_job_need_store final : public job_need_store, protected sql_store {
public:
    explicit sql_job_need_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), jobs_sql, "job_need") {}

    void add(connection& in, const std::vector<job_need>& what) override;
    std::vector<job_need_over> over(connection& on, const std::vector<job_id>& ids) override;
    std::vector<job_need_over> over_behind(connection& on, need_place& place) override;
    void forget(connection& in, const std::vector<job_need_over>& over) override;
    std::int64_t free(connection& on, const std::vector<job_id>& ids) override;
    std::vector<std::string> queues_of(connection& on, const std::vector<job_id>& ids) override;
    std::vector<job_id> left_waiting(connection& on, std::string_view queue, job_id& place)
        override;
    note_outcome note_reason(connection& on, job_id id, const std::string& words) override;
    std::vector<job_id> needs_of(connection& on, job_id id, int limit) override;
    std::vector<job_id> needed_by(connection& on, job_id id, int limit) override;
    bool is_needed(connection& on, job_id id) override;

private:
    // Sends a statement with a list of at most max_rows ids: PostgreSQL takes the list as its first
    // parameter, the others in the text of the statement.
    template <class Send>
    result about(
        std::string_view name, std::span<const job_id> ids, const parameters& more, Send&& send
    ) const;
    auto reading(connection& on) const {
        return [this, &on](const statement& what, const parameters& values) {
            return how_->read(on, what, values);
        };
    }
    // The function that sends changes, in the open transaction or by themselves.
    auto sending(connection& on) const {
        const bool is_inside = on.state() == connection_state::in_transaction;
        return [this, &on, is_inside](const statement& what, const parameters& values) {
            return is_inside ? how_->inside(on, what, values) : how_->write(on, what, values);
        };
    }
    std::vector<job_id> not_locked(connection& on, std::span<const job_id> ids) const;
    void forget_rows(connection& in, std::span<const job_need_over> over);
};

}  // namespace leasehold
