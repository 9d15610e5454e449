#pragma once
// Does what has come due in the queues of a worker, and what other workers left undone: fires
// schedules, rescues jobs of the dead, frees jobs that wait needlessly, removes ended ones.
//
// Threads: only the thread of worker::run().
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobs/fire.hpp"
#include "jobs/job_completer.hpp"
#include "jobs/needs.hpp"

namespace leasehold {

class job_maintenance {
public:
    job_maintenance(worker_queues& of, job_completer& with) : queues_(of), completer_(with) {
        for (worker_queue& each : queues_.all) maintained_.push_back({each});
    }

    // Reads all queues at once, makes due jobs available, and does the upkeep that other workers
    // left undone, if it is our turn. Returns when to look next, at the latest.
    local_clock::time_point look(local_clock::time_point now);
    // As of the last look: it found nothing that could run; a queue has limits.
    bool is_all_done() const noexcept { return is_all_done_; }
    bool has_limits() const noexcept {
        return std::ranges::any_of(queues_.all, &worker_queue::has_limits);
    }
    // The jobs that are available in these queues and were not taken, by queue and kind.
    std::vector<left_jobs> count_left();
    // The jobs that were rescued since the last call.
    std::int64_t take_rescued() noexcept { return std::exchange(rescued_, 0); }

private:
    // One pass over all jobs that may wait needlessly, some hundred rows at a time.
    struct unblock_pass {
        bool is_over_through = false, is_waiting_through = false, are_keys_through = false;
        need_places needs{};
        blocked_place place{};
        bool is_through() const noexcept {
            return is_over_through && is_waiting_through && are_keys_through;
        }
    };
    struct maintained {
        worker_queue& queue;
        local_clock::time_point next_maintenance{};
        blocked_place place{};
        std::optional<unblock_pass> under_way{};
        local_clock::time_point next_pass{};
        fire_place schedules{};
        need_places needs{};
    };

    local_clock::time_point look_at(
        connection& on, store_set& stores, maintained& of, const queue_look& seen
    );
    void heed_limits(worker_queue& queue, const queue_limits& limits);
    bool is_left(connection& on, store_set& stores, const worker_queue& queue) const;
    void maintain(connection& on, store_set& stores, maintained& of, const queue_look& seen);
    void tell_rescued(const std::string& queue, std::int64_t jobs, event_reason how) const;
    void prune(connection& on, store_set& stores);
    fire_result fires(connection& on, store_set& stores, maintained& of);
    local_clock::time_point next_fire(
        connection& on, store_set& stores, const maintained& of, const fire_result& done
    );
    std::int64_t go_on_with(connection& on, store_set& stores, maintained& of, unblock_pass& pass);
    bool unblocks(connection& on, store_set& stores, maintained& of, bool some_wait);
    std::optional<local_clock::time_point> go_on_with_pass(
        connection& on, store_set& stores, maintained& of, const queue_look& seen
    );

    worker_queues& queues_;
    job_completer& completer_;
    std::vector<maintained> maintained_{};
    std::set<std::string> complained_of_;  // schedules, once each
    local_clock::time_point next_pass_of_all_{};
    // The number of the first rows of the history whose delete is refused, and since when.
    std::size_t kept_back_ = 0;
    local_clock::time_point kept_back_since_{};
    bool is_all_done_ = false;
    std::int64_t rescued_ = 0;
};

// The parts of a worker that send its statements: one at a time, for all its threads.
struct job_statements {
    job_statements(std::shared_ptr<session::implementation> within, const worker_settings& of)
        : queues(std::move(within), of) {}
    job_statements(const job_statements&) = delete;

    worker_queues queues;
    job_fetcher fetcher{queues};
    job_completer completer{queues, fetcher};
    job_maintenance maintenance{queues, completer};
};

}  // namespace leasehold
