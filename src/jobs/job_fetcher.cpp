#include "jobs/job_fetcher.hpp"

#include <algorithm>

#include "jobs/job_queue_store.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

}  // namespace

void job_fetcher::note_notification(const std::string& queue) {
    const thread_guard guard{mutex_};
    notified_.insert(queue);
}

bool job_fetcher::was_notified() const {
    const thread_guard guard{mutex_};
    return !notified_.empty();
}

bool job_fetcher::heed_notifications() {
    std::set<std::string> notified;
    {
        const thread_guard guard{mutex_};
        notified.swap(notified_);
    }
    for (const std::string& each : notified) {
        worker_queue& queue = queues_.of(each);
        queue.expect_jobs();
        queue.needs_pass = true;
        queue.left_pause = {};
    }
    return !notified.empty();
}

bool job_fetcher::has_promising_queue() const noexcept {
    return std::ranges::any_of(queues_.all, &worker_queue::is_promising);
}

// By start-time fair queueing (Goyal, Vin and Cheng, 1996): the queue whose turn is the earliest.
worker_queue* job_fetcher::next_promising() {
    if (!sees_all_) {
        queues_.use([](connection& on, store_set& stores) {
            stores.get<job_queue_store>().require_all_rows(on);
        });
        sees_all_ = true;
    }
    worker_queue* next = nullptr;
    for (worker_queue& each : queues_.all) {
        if (!each.is_promising) continue;
        if (queues_.settings.order == queue_order::as_listed) return &each;
        // The turns that came while it had no jobs are not made up for.
        each.turn = std::max(each.turn, turn_);
        if (!next || each.turn < next->turn) next = &each;
    }
    if (!next) return nullptr;
    turn_ = next->turn;
    next->turn += 1.0 / next->weight;
    return next;
}

claim_request job_fetcher::request(const worker_queue& queue, std::size_t wanted) const {
    const auto most = std::min<std::size_t>(wanted, job_store::max_jobs_per_statement);
    const auto& session = *queues_.session;
    return {queue.name, queues_.kinds, static_cast<int>(most), session.id(), session.node_info()};
}

std::optional<local_clock::time_point> job_fetcher::note_claims(
    worker_queue& queue, const claim_request& request, const std::vector<claimed_job>& jobs
) {
    queue.brings_nothing = queue.is_promised && jobs.empty();
    queue.is_promising = jobs.size() >= static_cast<std::size_t>(request.max_jobs);
    const auto has_key = [](const claimed_job& each) { return !each.ordering_key.empty(); };
    queue.has_keys = queue.has_keys || std::ranges::any_of(jobs, has_key);
    if (queue.is_promising || !(queue.brings_nothing || queue.start_every)) return std::nullopt;
    // The rate may have left some jobs, or a worker of another kind had them locked for a moment.
    const nanoseconds pause_min = queue.start_every.value_or(milliseconds{50});
    queue.left_pause = jobs.empty() ? 2 * queue.left_pause : pause_min;
    queue.left_pause =
        std::clamp<nanoseconds>(queue.left_pause, pause_min, worker_queues::max_look);
    return local_clock::now() + queue.left_pause;
}

// A statement that its client gave up may go on in the server, but for less than this time.
void job_fetcher::note_in_doubt(worker_queue& queue) {
    const auto timeout = queues_.session->database().settings().statement_timeout;
    queue.in_doubt_until = local_clock::now() + 2 * timeout + std::chrono::seconds{5};
}

bool job_fetcher::is_in_doubt() const noexcept {
    return std::ranges::any_of(queues_.all, [](const worker_queue& each) {
        return each.in_doubt_until.has_value();
    });
}

job_fetcher::found_claims job_fetcher::look_for_lost_claims(
    const std::function<bool(const claimed_job&)>& knows
) {
    found_claims found;
    const auto now = local_clock::now();
    for (worker_queue& queue : queues_.all) {
        if (!queue.in_doubt_until) continue;
        const auto claims = queues_.use([&](connection& on, store_set& stores) {
            return stores.get<job_store>().find_claims(on, queue.name, queues_.session->id());
        });
        for (const claimed_job& each : claims) {
            if (!knows(each)) found.emplace_back(queue.name, each);
        }
    }
    // Not before: a failure loses what was found, and all queues are looked at again.
    for (worker_queue& queue : queues_.all) {
        if (queue.in_doubt_until && *queue.in_doubt_until <= now) queue.in_doubt_until.reset();
    }
    return found;
}

std::vector<claim_standing> job_fetcher::standings(const std::vector<job_claim>& held) {
    return queues_.use([&](connection& on, store_set& stores) {
        return stores.get<job_store>().standings(on, queues_.session->id(), held);
    });
}

}  // namespace leasehold
