#pragma once
// Workers that are idle: a job starts because of a notification, and not by their next look.
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "conformance/job_suite.hpp"
#include "jobs/job_notifier.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "leasehold/worker.hpp"

namespace leasehold::testing {

class job_notification_suite : public job_suite {
protected:
    // The worker usually looks once an hour, and so not again.
    struct idle_worker {
        session mine;
        leasehold::worker does;
        std::atomic<int> done = 0;
        std::stop_source stop;
        thread runs;

        // Does jobs of this kind, or of all.
        idle_worker(
            const database& db,
            const std::string& queue,
            int threads = 1,
            const std::string& kind = "",
            const std::function<void(leasehold::job&)>& work = [](leasehold::job&) {},
            const worker_settings& other = {.poll_every = 1h}
        )
            : mine(db, calm("worker")), does(mine, on(queue, threads, other)) {
            const auto handler = [this, work](leasehold::job& what) {
                work(what);
                ++done;
            };
            kind.empty() ? does.handle_all(handler) : does.handle(kind, handler);
            runs = thread{[this] { does.run(stop.get_token()); }};
        }
        ~idle_worker() {
            stop.request_stop();
            if (runs.joinable()) runs.join();
        }
        static worker_settings on(const std::string& queue, int threads, worker_settings made) {
            made.queues = {queue};
            made.concurrency = threads;
            return made;
        }
    };
    template <class Use>
    auto with_subscribers(Use&& use) const {
        return with_stores(second_, [&](connection& on, store_set& stores) {
            return use(on, stores.get<job_subscriber_store>());
        });
    }
    std::vector<job_subscriber> subscribers(int limit = 100) const {
        return with_subscribers([&](connection& on, job_subscriber_store& all) {
            return all.list(on, queue_, identity::random(), limit);
        });
    }
    void add(const session& whose, const owner_id& id, const std::string& address = "here") const {
        with_subscribers([&](connection& on, job_subscriber_store& all) {
            all.add(on, {queue_}, whose.id(), {id, address});
            return true;
        });
    }
    // A worker that the database has notified looks again a moment later.
    static void wait_until_quiet(
        std::chrono::nanoseconds pause = job_notifier::database_notified_every
    ) {
        const auto until = local_clock::now() + 2 * pause;
        ASSERT_TRUE(eventually([&] { return local_clock::now() > until; }));
    }
    // Waits until so many workers look only when notified, or in an hour: none is new any more.
    void wait_until_calm(std::size_t workers) const {
        ASSERT_TRUE(eventually([&] { return subscribers().size() == workers; }));
        wait_until_quiet(job_notifier::known_for);
    }
    // It is there, has looked, and found nothing.
    void wait_until_idle() const {
        ASSERT_TRUE(eventually([&] { return subscribers().size() == 1; }));
        // Its first look is behind what it has announced: a job that it finds shows that it ended.
        const job_id first = enqueue();
        job_queue{first_, queue_}.notify();
        ASSERT_TRUE(eventually([&] { return !find(first); }));
    }
};

}  // namespace leasehold::testing
