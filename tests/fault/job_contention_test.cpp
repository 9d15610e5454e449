// Rows of jobs that somebody else keeps locked: a worker's statement waits, gives up or is cut off;
// and deadlocks with the transactions of handlers. In each case the job is done once.
#include <atomic>
#include <future>

#include "fault/suite.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"

namespace leasehold::testing {
namespace {

// Counts the faults that may pass which a worker has met.
class waits final : public observer {
public:
    void on_event(const event& what) noexcept override {
        count_ += what.detail.find("a worker waits") != std::string_view::npos;
    }
    int count() const { return count_; }

private:
    std::atomic<int> count_ = 0;
};

class job_contention : public server_suite {
protected:
    // Gives up soon what somebody has locked.
    static database impatient(const std::shared_ptr<observer>& told) {
        database_settings settings;
        settings.observer = told;
        settings.statement_timeout = 700ms;
        return current().open(settings);
    }
    worker_settings settings() const {
        worker_settings made;
        made.queues = {name_};
        made.concurrency = 1;
        made.poll_every = 20ms;
        made.stop_when_idle = true;
        return made;
    }
    std::string table(const char* name) const { return first_.settings().names.prefix + name; }
    // Locks the row like a statement that is about to change it.
    void lock_job(transaction& tx, job_id id) const {
        tx.execute(
            "UPDATE " + table("job") + " SET priority = priority WHERE id = " + std::to_string(id)
        );
    }
    void lock_queue(transaction& tx) const {
        tx.execute("UPDATE " + table("queue") + " SET turn = turn WHERE name = '" + name_ + "'");
    }
    void limit() const {
        queue_limits limits;
        limits.max_running = 1;
        queue_.set_limits(limits);
    }
    // Ends whatever waits behind this transaction; or waits until the worker has given up.
    void cut_or_outlast(transaction& tx, bool is_cut, const waits& told) {
        if (is_cut) {
            const auto id = id_of(tx);
            ASSERT_TRUE(eventually([&] { return is_waiting_behind(id); }));
            for (const auto each : waiting_behind(id)) kill(each);
        } else {
            ASSERT_TRUE(eventually([&] { return told.count() > 0; }));
        }
    }

    const std::string name_ = fresh("queue");
    const job_queue queue_{first_, name_};
};

TEST_F(job_contention, an_end_that_waits_in_vain_is_made_again) {
    for (const bool is_cut : {true, false}) {
        const auto told = std::make_shared<waits>();
        const database own = impatient(told);
        const job_id id = queue_.enqueue({}).id;
        session mine{own, calm("worker")};
        leasehold::worker does{mine, settings()};
        std::promise<void> locked, started;
        std::atomic<int> runs = 0;
        does.handle_all([&](job&) {
            if (++runs > 1) return;
            started.set_value();
            locked.get_future().wait();
        });
        auto report = std::async(std::launch::async, [&] { return does.run(); });
        started.get_future().wait();
        transaction other = second_.begin();
        lock_job(other, id);
        locked.set_value();
        cut_or_outlast(other, is_cut, *told);
        other.rollback();
        EXPECT_EQ(report.get().completed, 1) << is_cut;
        EXPECT_EQ(runs, 1) << is_cut;
        EXPECT_FALSE(find_job(first_, id)) << is_cut;
    }
}

// It may have been made for all that anybody knows: its job is found, and done once.
TEST_F(job_contention, a_claim_in_turn_that_waits_in_vain_is_made_again) {
    for (const bool is_cut : {true, false}) {
        limit();
        const auto told = std::make_shared<waits>();
        const database own = impatient(told);
        const job_id id = queue_.enqueue({}).id;
        session mine{own, calm("worker")};
        leasehold::worker does{mine, settings()};
        std::atomic<int> runs = 0;
        does.handle_all([&](job&) { ++runs; });
        transaction other = second_.begin();
        lock_queue(other);
        auto report = std::async(std::launch::async, [&] { return does.run(); });
        cut_or_outlast(other, is_cut, *told);
        other.rollback();
        EXPECT_EQ(report.get().completed, 1) << is_cut;
        EXPECT_EQ(runs, 1) << is_cut;
        EXPECT_FALSE(find_job(first_, id)) << is_cut;
    }
}

// The handler has the row of its user, and wants its job's; the other has that, and wants the
// user's. The server may end either of them.
TEST_F(job_contention, who_meets_a_deadlock_in_his_transaction_does_the_job_again) {
    for (int round = 0; round < 3; ++round) {
        const job_id id = queue_.enqueue({.retry = {100, 0ms, 0ms}}).id;
        const auto before = current().read_counter();
        session mine{second_, calm("worker")};
        leasehold::worker does{mine, settings()};
        std::promise<void> locked, written;
        std::atomic<int> runs = 0, refused = 0;
        does.handle_all([&](job& each) {
            const bool is_first = ++runs == 1;
            try {
                transaction tx = second_.begin();
                current().increment_counter(transaction_ref{tx}.inside());
                if (is_first) {
                    written.set_value();
                    locked.get_future().wait();
                }
                each.complete_in(tx);
                tx.commit();
            } catch (const error& failure) {
                EXPECT_TRUE(failure.is_transient()) << failure.what();
                EXPECT_FALSE(failure.outcome_is_unknown()) << failure.what();
                ++refused;
                throw;
            }
        });
        auto report = std::async(std::launch::async, [&] { return does.run(); });
        written.get_future().wait();
        int of_the_other = 0;
        {
            transaction other = first_.begin();
            lock_job(other, id);
            const auto row = id_of(other);
            locked.set_value();
            EXPECT_TRUE(eventually([&] { return is_waiting_behind(row) || refused > 0; }));
            const auto thrown =
                thrown_by([&] { current().increment_counter(transaction_ref{other}.inside()); });
            of_the_other = thrown ? 1 : 0;
            other.rollback();
        }
        EXPECT_EQ(report.get().completed, 1);
        EXPECT_EQ(refused + of_the_other, 1) << "a deadlock ends one of two";
        EXPECT_EQ(runs, 1 + refused);
        EXPECT_EQ(current().read_counter(), before + 1);
        EXPECT_FALSE(find_job(first_, id));
    }
}

}  // namespace
}  // namespace leasehold::testing
