#pragma once
// The fetcher, the completer and the maintenance of a worker share its knowledge of its queues.
//
// | a queue is | means                                    | becomes                              |
// |------------|------------------------------------------|--------------------------------------|
// | promising  | there may be jobs for us                 | dull, when a claim brings fewer than  |
// |            |                                          | were wanted                          |
// | dull       | nothing was there when it was looked at  | promising, by a look or what has come |
// |            |                                          | due                                  |
//
// Threads: only the thread of worker::run(); use(), any.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/database.hpp"
#include "jobs/job_notifier.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/worker.hpp"
#include "session/session.hpp"

namespace leasehold {

struct worker_queue {
    std::string name;
    int weight = 1;
    double turn = 0;  // of its next claim; a queue of weight 1 claims once in each unit
    bool is_promising = true;
    bool is_promised = false;     // by the last look
    bool brings_nothing = false;  // no claim found jobs that it promised
    bool has_limits = false;
    std::optional<std::chrono::nanoseconds> start_every{};  // by its rate
    // The pause before a look at jobs that a claim left; longer after each claim without jobs.
    std::chrono::nanoseconds left_pause{0};
    bool may_have_freed = false;  // jobs of any kind, since the last claim
    bool has_keys = false;        // jobs with ordering keys were claimed
    bool needs_pass = true;       // a notification came, since the last pass began
    // Until then a claim without an answer may come; a last look for its jobs comes after that.
    std::optional<local_clock::time_point> in_doubt_until{};

    // Notes that there may be jobs that no claim has looked for yet.
    void expect_jobs() noexcept {
        is_promising = true;
        brings_nothing = false;
    }
};

struct worker_queues {
    // The longest time until the next look: a longer one could run over the end of the clock.
    static constexpr std::chrono::microseconds max_look = std::chrono::hours{1};

    worker_queues(
        std::shared_ptr<leasehold::session::implementation> within, const worker_settings& of
    )
        : session(std::move(within)), settings(of) {
        for (const std::string& each : of.queues) {
            const auto weight = of.weights.find(each);
            all.push_back({.name = each, .weight = weight == of.weights.end() ? 1 : weight->second}
            );
        }
    }

    template <class Use>
    auto use(Use&& with) {
        return session->database().use(session->one_request(), std::forward<Use>(with));
    }
    worker_queue& of(const std::string& queue) {
        return *std::ranges::find(all, queue, &worker_queue::name);
    }
    void notify(connection& on, store_set& stores, const std::string& queue) const {
        session->database().part<job_notifier>().notify(on, stores, queue);
    }
    // Tells this worker and idle ones that jobs of the queue are blocked no more.
    void goes_on(connection& on, store_set& stores, const std::string& queue) {
        notify(on, stores, queue);
        for (worker_queue& each : all) {
            if (each.name == queue) each.expect_jobs();
        }
    }
    void warn(const std::string& said) const {
        session->database().tell({event_kind::warning, "", 0, said});
    }

    const std::shared_ptr<leasehold::session::implementation> session;
    const worker_settings& settings;
    std::vector<std::string> kinds{};  // of job, that are claimed; none: all
    std::vector<worker_queue> all{};
};

}  // namespace leasehold
