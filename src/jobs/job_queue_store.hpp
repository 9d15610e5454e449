#pragma once
// The contract of all engines for the upkeep of queues, and for managing jobs. The general MUSTs:
// hold_store.hpp; jobs, claims and dead sessions: job_store.hpp.
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold {

class sql_dialect;

struct queue_look {
    bool has_available = false;
    // The time until the first scheduled or retryable job is due; 0: it is due.
    std::optional<std::chrono::microseconds> next_due_in{};
    // The time until the first schedule that is not paused is due; 0: it is due.
    std::optional<std::chrono::microseconds> next_fire_in{};
    // The time since a worker began maintenance; nullopt: none did, or the clock was set back.
    std::optional<std::chrono::microseconds> maintained_ago{};
    bool some_are_needed = false;  // some jobs wait for others, in any queue
    bool some_wait = false;        // jobs of this queue wait for others, or did until a moment ago
    bool some_are_blocked = false;
    bool is_paused = false;
    queue_limits limits{};
};

struct rescue_result {
    std::int64_t rescued = 0;
    std::int64_t quarantined = 0;
};

// A position in the ordering keys: the next look begins behind it.
struct blocked_place {
    std::string key{};
    bool is_beginning() const noexcept { return key.empty(); }
};

class job_queue_store {
public:
    virtual ~job_queue_store() = default;
    static std::unique_ptr<job_queue_store> make(const std::shared_ptr<const sql_dialect>& how);

    // ---- upkeep by any worker

    // Tells whether these queues have upkeep to do, and their settings. One plain read, some rows
    // for each. Same order and size.
    virtual std::vector<queue_look> look(
        connection& on, const std::vector<std::string>& queues
    ) = 0;

    // A worker calls this before its first claim. Throws if the engine silently hides rows from
    // this user that a worker reads. One plain read that touches no row.
    virtual void require_all_rows(connection&) {}

    // Makes due jobs available, at most `max_jobs`, the longest due first. Returns their number.
    virtual std::int64_t promote(connection& on, std::string_view queue, int max_jobs) = 0;

    // True for one caller of all workers in each `every`, which then calls rescue(), unblock() and
    // prune(). Waits for a claim in turn: ask only if maintained_ago says that it may be due.
    virtual bool begin_maintenance(
        connection& on, std::string_view queue, std::chrono::microseconds every
    ) = 0;

    // Takes running jobs, at most `max_jobs`, from dead sessions (job_store.hpp): available again,
    // the attempt uncounted, but noted among the failures, and a rescue counted; discarded if that
    // was the last rescue. MUST pass over rows that somebody has locked: an end that is being
    // committed wins.
    virtual rescue_result rescue(
        connection& on, std::string_view queue, int max_jobs, const job_retention& kept
    ) = 0;

    // Makes blocked jobs available if fewer jobs stand before them than may run at a time.
    // enqueue() and finish() miss such jobs if neither sees the other's commit, or if the limit was
    // raised. Looks only at the first jobs of `max_keys` ordering keys behind the position, and
    // moves it on; to the beginning if there are no more, or if nothing is blocked. Returns the
    // number of freed jobs. At most 1,000 keys.
    virtual std::int64_t unblock(
        connection& on, std::string_view queue, int max_keys, blocked_place& place
    ) = 0;

    // Counts the available jobs of the queue by kind, or those of one kind: up to `max_rows` jobs,
    // in the order in which a claim reads them. Reads: each row that it counts.
    virtual std::map<std::string, std::int64_t> count_available(
        connection& on, std::string_view queue, const std::optional<std::string>& kind, int max_rows
    ) = 0;

    // Removes rows of the history whose time is over, by primary key, at most `max_rows` behind the
    // first `kept_back`. Returns their number. MUST pass over rows that somebody has locked.
    virtual std::int64_t prune(connection& on, int max_rows, std::size_t kept_back) = 0;

    // ---- managing

    virtual cancel_outcome cancel(connection& on, job_id id, std::chrono::microseconds kept) = 0;
    virtual retry_outcome retry(connection& on, job_id id) = 0;
    // With a delay of 0 this changes no time, and hurry() does.
    virtual job_change_outcome change(connection& on, job_id id, const job_changes& what) = 0;
    // Makes a job due that waits for its time.
    virtual void hurry(connection& on, job_id id) = 0;
    // MUST be durable, and leave a job that another one needs: without its row it counts as
    // completed.
    virtual delete_outcome remove(connection& on, job_id id) = 0;

    // With the failures of its attempts, without what it depends on.
    virtual std::optional<job_info> describe(connection& on, job_id id) = 0;
    // Ids from the first to the last, both included. An order begins at one of its ends.
    struct id_range {
        job_id first = 1;
        job_id last = std::numeric_limits<job_id>::max();
    };
    // The jobs in the range that the filter asks for; its `after` is in the range already.
    virtual std::vector<job_info> list(
        connection& on, const job_filter& filter, const id_range& among
    ) = 0;
    // The part of the range that has so many jobs, or twice as many, from where the order begins.
    virtual id_range part_of(connection& on, const id_range& among, job_order order, int jobs) = 0;

    struct queue_row {
        bool is_paused = false;
        queue_limits limits;
    };
    // nullopt if the queue has no row yet, and so no limits.
    virtual std::optional<queue_row> find_queue(connection& on, std::string_view name) = 0;
    // These two make the queue's row if it is missing.
    virtual void set_limits(connection& on, std::string_view name, const queue_limits& limits) = 0;
    virtual void set_paused(connection& on, std::string_view name, bool is_paused) = 0;
    virtual std::vector<std::string> queue_names(connection& on) = 0;
    // Counts jobs by state, and tells how long the oldest available one waits. Reads all of them.
    virtual queue_info describe_queue(connection& on, std::string_view name) = 0;
    // Does so for all queues of queue_names(), in that order, always in three statements. Reads all
    // jobs.
    virtual std::vector<queue_info> describe_queues(connection& on) = 0;
};

}  // namespace leasehold
