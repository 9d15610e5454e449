#pragma once
// The state of a database, as `serve` and `top` show it: read at most once a second, with limits
// that keep it small whatever there is.
//
// Threads: a snapshot is a value that does not change; an overview is safe.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/watch/history.hpp"
#include "cli/watch/refreshed.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/doctor.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/job_schedule.hpp"
#include "leasehold/once.hpp"

namespace leasehold::cli {

using wall_time = std::chrono::sys_time<std::chrono::microseconds>;

wall_time wall_now();

// Some of the locks, and how many there are.
struct lock_view {
    wall_time taken{};
    lock_filter filter{};
    lock_page page{};
    lock_counts counts{};  // counts all keys with that prefix
    // The waiters for mutexes of that page, first come first, for the first few keys with waiters.
    std::map<std::string, std::vector<waiter_info>> waiters{};
};

struct session_counts {
    std::int64_t live = 0;
    std::int64_t dead = 0;
};

struct snapshot {
    // Why the database could not be read; the rest is from the read before, if there was any.
    std::optional<std::string> failure{};
    int failure_status = 0;  // the status with which a command would have failed
    const char* failure_name = "";
    wall_time tried{};
    std::optional<wall_time> taken{};
    std::string engine{};  // with its version
    lock_view locks{};
    session_counts session_count{};
    std::vector<session_info> sessions{};  // the dead first, then the oldest
    std::map<run_state, std::int64_t> run_count{};
    std::vector<run_info> runs{};  // those that failed first, then the latest
    std::int64_t schedule_count = 0;
    std::int64_t overdue_count = 0;              // schedules
    std::vector<job_schedule_info> schedules{};  // the overdue first, then what fires next
    std::int64_t queue_count = 0;
    std::map<job_state, std::int64_t> job_count{};  // in all queues
    std::vector<queue_info> queues{};               // the first by name
    std::vector<job_info> failing{};                // discarded and to be tried again
    bool has_more_failing = false;
    std::vector<finding> findings{};
    std::optional<wall_time> examined{};
    job_history history{};
};

// The number of rows of each kind that are kept for people. Counts cover all rows.
inline constexpr int max_shown = 200;

// Reads it for all callers.
class overview {
public:
    explicit overview(database db, refresh_settings settings = {});

    using answer = refreshed<snapshot>::answer;
    answer latest() { return snapshots_.latest(); }
    // Reads some of the locks, for a caller with a prefix. Throws the database's error, and
    // errc::timed_out if it waited too long for other callers' questions.
    std::shared_ptr<const lock_view> locks(const lock_filter& filter);

    bool is_reading() const { return snapshots_.is_reading(); }

private:
    struct kept_view {
        lock_filter filter;
        local_clock::time_point until;
        std::shared_ptr<const lock_view> view;
    };

    snapshot read();
    void read_all(snapshot& into);
    void examine_all(snapshot& into);

    const database database_;
    // The parts that are read less often, or that carry over from one snapshot to the next. Only
    // the reading thread uses them.
    snapshot last_;
    local_clock::time_point next_examination_{};
    bool has_failed_ = false;  // the last read
    std::timed_mutex asks_;    // guards questions about some locks, and `kept_`
    std::vector<kept_view> kept_;
    refreshed<snapshot> snapshots_;  // last: its thread uses the others
};

}  // namespace leasehold::cli
