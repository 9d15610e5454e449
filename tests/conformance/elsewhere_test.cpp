// Transactions of another database: the calls that take part in one refuse it, and change nothing.
#include "conformance/suite.hpp"
#include "leasehold/fence_guard.hpp"
#include "leasehold/job.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/shared_mutex.hpp"
#include "leasehold/worker.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class elsewhere_suite : public suite {
protected:
    // Calls with a transaction of the other database's, and then with a connection to it, as a
    // client library lends it; expects that each call is refused.
    static void expect_refused(
        const database& there, const std::function<void(transaction_ref)>& call
    ) {
        transaction tx = there.begin();
        expect_refused([&] { call(tx); });
        tx.rollback();
        with_lent(there, [&](connection& lent) { expect_refused([&] { call(lent); }); });
    }
    static void with_lent(const database& there, const std::function<void(connection&)>& call) {
        const auto lent = there.inner()->connections().connect_apart(10s);
        lent->begin();
        call(*lent);
        lent->rollback();
    }
    static void expect_refused(const std::function<void()>& call) {
        const auto refused = thrown_by(call);
        ASSERT_TRUE(refused) << "another database was taken for this one";
        EXPECT_EQ(refused->code(), errc::wrong_transaction) << refused->what();
        const std::string_view said = refused->what();
        EXPECT_NE(said.find("nothing was changed"), std::string_view::npos) << said;
    }
    // True on SQLite, where every call also asks a lent connection for its place.
    static bool is_local() { return !current().has_concurrent_writers; }
};

TEST_F(elsewhere_suite, a_proof_is_refused_and_the_lease_goes_on) {
    session one{first_, calm("one")};
    lease held = *mutex{one, fresh("k")}.try_acquire();
    lease shared = *shared_mutex{one, fresh("s")}.try_acquire_shared();
    multi_lease both = *multi_lock{one, {fresh("a"), fresh("b")}}.try_acquire();
    once nightly{one, fresh("task"), schedule::every(1h)};
    auto run = nightly.try_start();
    ASSERT_TRUE(run);
    current().run_elsewhere([&](const database& there) {
        expect_refused(there, [&](transaction_ref tx) { held.verify_in(tx); });
        expect_refused(there, [&](transaction_ref tx) { shared.verify_in(tx); });
        expect_refused(there, [&](transaction_ref tx) { both.verify_in(tx); });
        expect_refused(there, [&](transaction_ref tx) { run->finish_in(tx); });
    });
    EXPECT_TRUE(held.verify());
    EXPECT_TRUE(shared.verify());
    EXPECT_TRUE(both.verify());
    transaction tx = second_.begin();
    held.verify_in(tx);  // of another handle to the same database
    shared.verify_in(tx);
    both.verify_in(tx);
    run->finish_in(tx);
    tx.commit();
}

TEST_F(elsewhere_suite, a_stale_token_is_not_let_in_there) {
    const fence_guard guard{first_};
    const key shelf = fresh("shelf");
    current().run_elsewhere([&](const database& there) {
        transaction tx = there.begin();
        expect_refused([&] { guard.admit_in(tx, shelf, {7}); });
        EXPECT_FALSE(fence_guard{there}.highest(shelf));
        tx.rollback();
        if (!is_local()) return;
        with_lent(there, [&](connection& lent) {
            expect_refused([&] { guard.admit_in(lent, shelf, {7}); });
        });
    });
    EXPECT_FALSE(guard.highest(shelf));
    transaction tx = second_.begin();
    guard.admit_in(tx, shelf, {7});
    tx.commit();
    EXPECT_EQ(guard.highest(shelf), fencing_token{7});
}

TEST_F(elsewhere_suite, a_job_is_not_enqueued_there) {
    const std::string name = fresh("queue");
    const job_queue queue{first_, name};
    current().run_elsewhere([&](const database& there) {
        transaction tx = there.begin();
        expect_refused([&] { queue.enqueue_in(tx, {.payload = "p"}); });
        tx.rollback();
        if (is_local()) {
            with_lent(there, [&](connection& lent) {
                expect_refused([&] { queue.enqueue_in(lent, {.payload = "p"}); });
            });
        }
        EXPECT_TRUE(list_queues(there).empty());
    });
    transaction tx = second_.begin();
    queue.enqueue_in(tx, {.payload = "p"});
    tx.commit();
    EXPECT_EQ(queue.describe().jobs[job_state::available], 1);
}

TEST_F(elsewhere_suite, a_job_is_not_completed_there) {
    const std::string name = fresh("queue");
    const auto id = job_queue{first_, name}.enqueue({.payload = "p"}).id;
    session mine{first_, calm("worker")};
    worker does{mine, {.queues = {name}, .stop_when_idle = true}};
    current().run_elsewhere([&](const database& there) {
        does.handle_all([&](job& each) {
            expect_refused(there, [&](transaction_ref tx) { each.complete_in(tx); });
            transaction tx = second_.begin();
            each.complete_in(tx);
            tx.commit();
        });
        EXPECT_EQ(does.run().completed, 1);
    });
    const auto found = find_job(first_, id);
    EXPECT_TRUE(!found || found->state == job_state::completed);
}

TEST_F(elsewhere_suite, no_key_is_acquired_there_and_the_session_lives) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    mutex closing{one, name};
    current().run_elsewhere([&](const database& there) {
        transaction tx = there.begin();
        expect_refused([&] { (void)closing.try_acquire_in(tx); });
        tx.rollback();
        if (!is_local()) return;
        with_lent(there, [&](connection& lent) {
            expect_refused([&] { (void)closing.try_acquire_in(lent); });
        });
    });
    EXPECT_TRUE(one.is_live());
    EXPECT_TRUE(is_granted(closing.try_acquire()));
}

}  // namespace
}  // namespace leasehold::testing
