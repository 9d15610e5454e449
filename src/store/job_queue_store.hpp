#pragma once
// The contract of all engines for the upkeep of queues, and for managing jobs. The general MUSTs:
// hold_store.hpp; jobs, claims and dead sessions: job_store.hpp.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"
#include "store/job_store.hpp"

namespace leasehold {

struct queue_look {
    bool has_available = false;
    // The time until the first scheduled or retryable job is due; 0: it is due.
    std::optional<std::chrono::microseconds> next_due_in{};
    // The same for the first schedule that is not paused.
    std::optional<std::chrono::microseconds> next_fire_in{};
    // The time since a worker took the turn; nothing: none did, or the clock was set back.
    std::optional<std::chrono::microseconds> swept_ago{};
    bool some_are_needed = false;  // others need jobs, in whichever queue
    bool some_wait = false;        // jobs of this queue wait for others, or did until a moment ago
    bool some_are_blocked = false;
    bool is_paused = false;
    queue_limits limits{};
};

struct rescue_result {
    std::int64_t rescued = 0;
    std::int64_t quarantined = 0;
};

// A place in the ordering keys: the next key to be looked at is behind it.
struct blocked_place {
    std::string key{};
    bool is_beginning() const noexcept { return key.empty(); }
};

class job_queue_store {
public:
    virtual ~job_queue_store() = default;

    // ---- upkeep by any worker

    // Says whether there is something to do in these queues, and how they are set. One plain read,
    // some rows for each. Same order and size.
    virtual std::vector<queue_look> look(
        connection& on, const std::vector<std::string>& queues
    ) = 0;

    // A worker calls it before its first claim: throws where the engine hides rows that a worker
    // reads from this user, without an error of its own. One plain read that touches no row.
    virtual void require_all_rows(connection&) {}

    // Makes due jobs available, at most `jobs_max`, the longest due first. Returns how many.
    virtual std::int64_t promote(connection& on, std::string_view queue, int jobs_max) = 0;

    // True for one caller in each `every`, of all workers: that one then does the following three.
    // Waits for a claim in turn: ask only where swept_ago says that it may be somebody's turn.
    virtual bool take_turn(
        connection& on, std::string_view queue, std::chrono::microseconds every
    ) = 0;

    // Takes running jobs, at most `jobs_max`, from dead sessions: available again, the attempt
    // uncounted, a rescue counted; discarded where that was the last rescue. MUST pass by rows that
    // somebody has locked: an end that is being committed wins.
    virtual rescue_result rescue(
        connection& on, std::string_view queue, int jobs_max, const job_retention& kept
    ) = 0;

    // Makes blocked jobs available before which fewer stand than may run at a time: those that
    // enqueue() and finish() missed because the other was not committed yet, or where more may run
    // than before. Looks at the first jobs of `keys_max` ordering keys behind the place, however
    // many wait behind them, and moves it on; to the beginning where there are no more, or where
    // nothing is blocked. Returns how many it freed. At most 1,000 keys.
    virtual std::int64_t unblock(
        connection& on, std::string_view queue, int keys_max, blocked_place& place
    ) = 0;

    // Counts the available jobs of the queue by kind, or those of one kind: up to `rows_max` jobs,
    // in the order in which a claim meets them. Reads: each row that it counts.
    virtual std::map<std::string, std::int64_t> count_available(
        connection& on, std::string_view queue, const std::optional<std::string>& kind, int rows_max
    ) = 0;

    // Removes rows of the history whose time is over, by primary key, at most `rows_max` behind the
    // first `kept_back`. Returns how many. MUST pass by rows that somebody has locked.
    virtual std::int64_t prune(connection& on, int rows_max, std::size_t kept_back) = 0;

    // ---- managing

    virtual cancel_outcome cancel(connection& on, job_id id, std::chrono::microseconds kept) = 0;
    virtual retry_outcome retry(connection& on, job_id id) = 0;

    virtual std::optional<job_info> describe(connection& on, job_id id) = 0;
    virtual std::vector<job_info> list(connection& on, const job_filter& filter) = 0;

    struct queue_row {
        bool is_paused = false;
        queue_limits limits;
    };
    // Answers nothing where there is no row yet, and so no limits.
    virtual std::optional<queue_row> find_queue(connection& on, std::string_view name) = 0;
    // These two make the row where it is missing.
    virtual void set_limits(connection& on, std::string_view name, const queue_limits& limits) = 0;
    virtual void set_paused(connection& on, std::string_view name, bool is_paused) = 0;
    virtual std::vector<std::string> queue_names(connection& on) = 0;
    // Counts jobs by state, and tells how long the oldest available one waits. Reads all of it.
    virtual queue_info describe_queue(connection& on, std::string_view name) = 0;
    // The same for all queues of queue_names(), in that order: three statements, however many there
    // are. Reads all jobs.
    virtual std::vector<queue_info> describe_queues(connection& on) = 0;
};

}  // namespace leasehold
