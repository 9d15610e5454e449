#pragma once
// The common parts of the suites of jobs: workers, each a process of its own with a session, on a
// queue that nobody else uses. They speak to the stores.
#include <algorithm>
#include <set>

#include "conformance/suite.hpp"
#include "jobs/job_attempt.hpp"
#include "jobs/job_queue_store.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"
#include "session/session_store.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {

// Returns for each end whether its claim stood.
inline std::vector<bool> stood(const job_store::end_states& states) {
    std::vector<bool> all;
    for (const auto& each : states) all.push_back(each.has_value());
    return all;
}

// use(connection, stores) of a database.
template <class Use>
auto with_stores(const database& db, Use&& use) {
    return db.inner()->use([&](connection& on, store_set& stores) { return use(on, stores); });
}

// The same in an open transaction.
template <class Use>
auto with_stores_in(const database& db, transaction& tx, Use&& use) {
    connection& on = transaction_ref{tx}.inside();
    return use(on, db.inner()->ready_store(on));
}

inline job_end end_of(
    const claimed_job& job,
    job_step step,
    std::chrono::microseconds delay = std::chrono::microseconds{0},
    std::string words = {}
) {
    return end_after(job, step, delay, std::move(words));
}

inline std::vector<job_id> ids_of(const std::vector<claimed_job>& jobs) {
    std::vector<job_id> ids;
    for (const claimed_job& each : jobs) ids.push_back(each.id);
    return ids;
}

// A completed job is kept for a day if it has a result, and not otherwise; all others for a week.
inline job_retention usual_retention() {
    return {0h, 24h, 24h * 7, 24h * 7};
}

struct worker {
    database db;
    std::string queue;
    session mine{db, calm("worker")};
    job_retention kept = usual_retention();

    worker(database with, std::string of) : db(std::move(with)), queue(std::move(of)) {}

    claim_request wants(int max_jobs, std::vector<std::string> kinds = {}) const {
        return {queue, std::move(kinds), max_jobs, mine.id(), "worker@here"};
    }
    claim_result try_claim(int max_jobs, std::vector<std::string> kinds = {}) const {
        return with_stores(db, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().claim(on, wants(max_jobs, std::move(kinds)));
        });
    }
    std::vector<claimed_job> claim(int max_jobs, std::vector<std::string> kinds = {}) const {
        claim_result got = try_claim(max_jobs, std::move(kinds));
        EXPECT_FALSE(got.session_has_ended);
        EXPECT_LE(std::ssize(got.jobs), max_jobs);
        return std::move(got.jobs);
    }
    claimed_job claim_one() const {
        auto got = claim(1);
        return got.empty() ? throw std::runtime_error("there is nothing to claim") : got.front();
    }
    job_store::end_states states_after(const std::vector<job_end>& ends) const {
        return with_stores(db, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().finish(on, mine.id(), ends, kept);
        });
    }
    std::vector<bool> finish_all(const std::vector<job_end>& ends) const {
        return stood(states_after(ends));
    }
    std::vector<bool> finish_all_in(transaction& tx, const std::vector<job_end>& ends) const {
        return with_stores_in(db, tx, [&](connection& on, store_set& stores) {
            return stood(stores.get<job_store>().finish(on, mine.id(), ends, kept));
        });
    }
    bool finish(const job_end& end) const { return finish_all({end}).at(0); }
    bool complete(const claimed_job& job) const { return finish(end_of(job, job_step::complete)); }
    bool fail(const claimed_job& job, std::chrono::microseconds delay = 1h) const {
        return finish(end_of(job, job_step::fail, delay, "failed"));
    }
    job_store::finished_and_claimed finish_and_claim(const std::vector<job_end>& ends, int max_jobs)
        const {
        return with_stores(db, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().finish_and_claim(
                on, mine.id(), ends, kept, wants(max_jobs)
            );
        });
    }
    std::vector<claim_standing> standings(const std::vector<job_claim>& held) const {
        return with_stores(db, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().standings(on, mine.id(), held);
        });
    }
    claim_standing standing(const claimed_job& job) const {
        return standings({{job.id, job.token}}).at(0);
    }
};

class job_suite : public suite {
protected:
    // ---- enqueuing

    std::vector<enqueued_job> enqueue_all(const std::vector<new_job>& what) const {
        return with_stores(first_, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().enqueue(on, queue_, what);
        });
    }
    enqueued_job try_enqueue(const new_job& what) const { return enqueue_all({what}).at(0); }
    enqueued_job try_enqueue_in(transaction& tx, const new_job& what) const {
        return with_stores_in(first_, tx, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().enqueue(on, queue_, {what}).at(0);
        });
    }
    job_id enqueue(const new_job& what = {}) const {
        const enqueued_job made = try_enqueue(what);
        EXPECT_TRUE(made.is_new);
        return made.id;
    }
    std::vector<job_id> enqueue_many(int number, const new_job& what = {}) const {
        std::vector<job_id> ids;
        const std::vector<new_job> all(static_cast<std::size_t>(number), what);
        for (const enqueued_job& each : enqueue_all(all)) ids.push_back(each.id);
        return ids;
    }
    static new_job keyed(const std::string& ordering_key) {
        new_job made;
        made.ordering_key = ordering_key;
        return made;
    }
    static new_job unique(const std::string& key, on_conflict conflict = on_conflict::keep) {
        new_job made;
        made.unique_key = key;
        made.conflict = conflict;
        return made;
    }
    static new_job delayed(std::chrono::milliseconds delay) {
        new_job made;
        made.delay = delay;
        return made;
    }

    // ---- asking about jobs

    std::optional<job_info> find(job_id id) const {
        return with_stores(second_, [&](connection& on, store_set& stores) {
            return stores.get<job_queue_store>().describe(on, id);
        });
    }
    job_info info(job_id id) const { return find(id).value(); }
    std::optional<job_state> state(job_id id) const {
        const auto found = find(id);
        return found ? std::optional{found->state} : std::nullopt;
    }

    // ---- what is done for all

    template <class Use>
    auto with_queues(Use&& use) const {
        return with_stores(second_, [&](connection& on, store_set& stores) {
            return use(on, stores.get<job_queue_store>());
        });
    }
    rescue_result rescue(int max_jobs = 100) const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.rescue(on, queue_, max_jobs, kept_);
        });
    }
    std::int64_t promote(int max_jobs = 100) const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.promote(on, queue_, max_jobs);
        });
    }
    std::int64_t unblock(int max_keys, blocked_place& place) const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.unblock(on, queue_, max_keys, place);
        });
    }
    std::int64_t unblock() const {
        blocked_place place;
        return unblock(100, place);
    }
    cancel_outcome cancel(job_id id, std::chrono::microseconds kept = 24h) const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.cancel(on, id, kept);
        });
    }
    retry_outcome retry(job_id id) const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.retry(on, id);
        });
    }
    queue_look look() const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.look(on, {queue_}).at(0);
        });
    }
    void set_limits(const queue_limits& limits) const {
        with_queues([&](connection& on, job_queue_store& queues) {
            queues.set_limits(on, queue_, limits);
            return true;
        });
    }
    void set_paused(bool is_paused) const {
        with_queues([&](connection& on, job_queue_store& queues) {
            queues.set_paused(on, queue_, is_paused);
            return true;
        });
    }

    // Makes the job due, as if it were time for it.
    void make_due(job_id id) const {
        current().age_job(id, 2h);
        EXPECT_GE(promote(), 1);
    }
    void revive(const session& whose) const { current().age_session(whose.id(), -2h); }

    // Runs `other` while a transaction is open, and then ends that; where the engine has one
    // writer, `other` waits for the end.
    template <class Other, class End>
    static void while_open(Other other, End end) {
        thread beside{other};
        if (current().has_concurrent_writers) beside.join();
        end();
    }

    const std::string queue_ = fresh("queue");
    const job_retention kept_ = usual_retention();
    worker one_{first_, queue_};
    worker two_{second_, queue_};
};

}  // namespace leasehold::testing
