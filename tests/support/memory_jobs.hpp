#pragma once
// The model's rows of jobs and queues, and what a connection sees of them. A job is one row from
// its enqueuing until it is pruned.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobs/job_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold::testing {

struct memory_tables;

struct job_row {
    std::string queue;
    new_job what;  // its unique key is empty once it is free for ever
    job_state state = job_state::available;
    int attempts = 0;
    int rescues = 0;
    std::int64_t token = 0;
    std::optional<session_id> session;  // where it runs
    bool is_cancel_requested = false;
    std::string node_info, progress, checkpoint, error, result;
    std::vector<job_failure> failures;  // with instants in place of ages
    std::chrono::microseconds enqueued_at{0}, claimed_at{0}, ended_at{0}, prune_at{0};
    std::optional<std::chrono::microseconds> available_at;  // nothing: since it was enqueued
    std::optional<std::chrono::microseconds> due_at;        // where scheduled or retryable

    void note_failure(const std::string& words, std::chrono::microseconds ended);
    bool has_ended() const { return state >= job_state::completed; }
    bool is_of_key(const job_row& other) const {
        return queue == other.queue && what.ordering_key == other.what.ordering_key;
    }
};

// A job as it is committed, and as it was written in a transaction that has not ended: nothing
// where there is no such job, or none any more.
struct job_versions {
    std::optional<job_row> committed;
    std::optional<job_row> written;
    const connection* writer = nullptr;
};

struct queue_row {
    bool is_paused = false;
    queue_limits limits;
    std::chrono::microseconds starts_from{0};
    std::optional<std::chrono::microseconds> swept_at;
};

// The jobs as one connection sees them in one request, and changes them: in its transaction where
// it has one open.
class seen_jobs {
public:
    seen_jobs(memory_tables& tables, const connection& from, bool is_inside)
        : tables_(tables), from_(from), is_inside_(is_inside) {}

    std::chrono::microseconds now() const;
    const job_row* find(job_id id) const;
    // Changed in a transaction of another connection that has not ended.
    bool is_locked(job_id id) const;
    // Somebody's transaction has put a job of this unique key there, or taken it away.
    bool is_contested(const std::string& queue, const std::string& unique_key) const;
    // Looks among jobs that have not ended.
    std::optional<job_id> find_unique(const std::string& queue, const std::string& unique_key)
        const;
    // Ids of those for which `holds` is true, in their order.
    template <class Holds>
    std::vector<job_id> where(Holds&& holds) const {
        std::vector<job_id> ids;
        for (const auto& [id, versions] : versions_of_all()) {
            const job_row* const row = find(id);
            if (row && holds(id, *row)) ids.push_back(id);
        }
        return ids;
    }

    void put(job_id id, std::optional<job_row> row);
    job_id add(job_row row);

    // The number of jobs of an ordering key that may run at a time, and whether as many stand
    // before a job.
    int max_running_per_key(const std::string& queue) const;
    bool is_behind_others(job_id id, const job_row& row) const;
    // True when it may start now, with what runs already.
    bool may_start(job_id id, const job_row& row) const;
    // The first blocked one of the key of a job that is in nobody's way any more.
    void free_next_of(const job_row& gone);
    // Its end. The row is kept for so long, or not at all.
    void end(job_id id, job_row row, job_state as, std::chrono::microseconds kept);

private:
    const std::map<job_id, job_versions>& versions_of_all() const;

    memory_tables& tables_;
    const connection& from_;
    const bool is_inside_;
};

// The jobs written by an open transaction count from now on, or are undone.
void end_jobs_of(memory_tables& tables, const connection& whose, bool commit);

// True when the job is due only after the end of those that it waits for.
bool is_never(std::chrono::microseconds due_at);

claimed_job claimed_from(job_id id, const job_row& row);
job_info info_of(const memory_tables& tables, job_id id, const job_row& row);

}  // namespace leasehold::testing
