// An object that was moved from says so in each call, and can be assigned to and destroyed.
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/barrier.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/pending_lease.hpp"
#include "leasehold/quorum_lock.hpp"
#include "leasehold/row_claim.hpp"
#include "leasehold/schedule.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "leasehold/versioned_claim.hpp"
#include "leasehold/worker.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class handle_test : public model_test {
protected:
    // `call` works before the move, is refused after it, and works again after an assignment.
    template <class Handle, class Call>
    static void expect_refused(
        const std::string& name, Handle made, const Call& call, errc wanted = errc::invalid_argument
    ) {
        SCOPED_TRACE(name);
        const auto refused = [&] { return thrown_by([&] { (void)call(made); }); };
        EXPECT_FALSE(refused());
        Handle taken = std::move(made);
        const auto failure = refused();
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), wanted);
        EXPECT_EQ(failure->what(), "this " + name + " was moved from");
        made = std::move(taken);
        EXPECT_FALSE(refused());
    }
    static constexpr auto asks_for_key = [](auto& of) { return of.key(); };

    session mine_{sound(), calm()};
};

TEST_F(handle_test, a_database_and_what_works_on_it_say_that_they_were_moved_from) {
    expect_refused("database", sound(), [](auto& of) { return of.pool_usage(); });
    expect_refused("transaction", sound().begin(), [](auto& of) { return transaction_ref{of}; });
    expect_refused("session", session{sound(), calm()}, [](auto& of) { return of.is_live(); });
    expect_refused("worker", worker{mine_, {.queues = {"mail"}}}, [](auto& of) {
        return of.progress();
    });
    expect_refused("schedule", schedule::every(1h), [](auto& of) { return of.text(); });
    expect_refused("row_claim", row_claim{{.table = "t", .key = {"id"}}}, [](auto& of) {
        return of.mapping();
    });
    const versioned_mapping seats{
        .table = "t", .key = {"id"}, .version = "v", .state = {"status", "free", "taken", "sold"}};
    expect_refused("versioned_claim", versioned_claim{seats}, [](auto& of) {
        return of.mapping();
    });
}

TEST_F(handle_test, each_lock_says_that_it_was_moved_from) {
    expect_refused("mutex", mutex{mine_, name_}, asks_for_key);
    expect_refused("shared_mutex", shared_mutex{mine_, name_}, asks_for_key);
    expect_refused("semaphore", semaphore{mine_, name_, 2}, asks_for_key);
    expect_refused("barrier", barrier{mine_, name_, 2}, asks_for_key);
    expect_refused("latch", latch{mine_, name_, 2}, asks_for_key);
    expect_refused("leader_election", leader_election{mine_, name_}, asks_for_key);
    expect_refused("multi_lock", multi_lock{mine_, {name_}}, [](auto& of) { return of.keys(); });
    expect_refused("once", once{mine_, name_, schedule::every(1h)}, [](auto& of) {
        return of.try_start();
    });
    expect_refused("quorum", quorum{{sound()}}, [](auto& of) { return of.size(); });
    quorum servers{{sound()}};
    expect_refused("quorum_lock", quorum_lock{servers, name_}, [](auto& of) {
        return of.try_acquire();
    });
}

TEST_F(handle_test, each_lease_says_that_it_was_moved_from) {
    const auto spent = errc::lease_lost;  // spent_lease_test.cpp has all other calls
    const auto asks_for_token = [](auto& of) { return of.token(); };
    mutex closing{mine_, name_};
    expect_refused("lease", *closing.acquire(), asks_for_token, spent);
    const auto asks_for_keys = [](auto& of) { return of.keys(); };
    expect_refused("multi_lease", *multi_lock{mine_, {name_}}.acquire(), asks_for_keys, spent);
    leader_election office{mine_, name_};
    expect_refused("leadership", *office.campaign(), asks_for_token, spent);
    once nightly{mine_, "task", schedule::every(1h)};
    expect_refused(
        "task_run", *nightly.start(), [](auto& of) { return of.tick(); }, spent
    );
    quorum servers{{sound()}};
    const auto asks_for_tokens = [](auto& of) { return of.tokens(); };
    quorum_lock most{servers, name_};
    expect_refused("quorum_lease", *most.try_acquire(), asks_for_tokens, spent);
    transaction tx = sound().begin();
    expect_refused("pending_lease", *closing.try_acquire_in(tx), asks_for_key, spent);
}

TEST_F(handle_test, the_end_of_an_object_that_was_moved_from_does_nothing) {
    transaction tx = sound().begin();
    const transaction next = std::move(tx);
    tx.rollback();
    session other{sound(), calm()};
    lease held = *mutex{other, name_}.acquire();
    const lease taken = std::move(held);
    EXPECT_EQ(held.release(), release_outcome::not_held);
    EXPECT_TRUE(thrown_by([&] { (void)detach(std::move(held)); }));
    EXPECT_EQ(other.end_with(std::move(held)), release_outcome::not_held);
    EXPECT_FALSE(taken.held_locally()) << "end_with() ends the session in any case";
    const session last = std::move(other);
    other.end();
    EXPECT_TRUE(thrown_by([&] { (void)mutex{other, name_}; }));
}

TEST_F(handle_test, a_session_of_a_database_that_was_moved_from_is_refused) {
    database there = sound();
    const database taken = std::move(there);
    const auto failure = thrown_by([&] { session{there, calm()}.end(); });
    ASSERT_TRUE(failure);
    EXPECT_STREQ(failure->what(), "this database was moved from");
}

TEST_F(handle_test, a_lockable_whose_lease_was_taken_out_is_not_held) {
    lockable_mutex guarded{mine_, name_};
    guarded.lock();
    std::optional<lease> kept;
    guarded.with_lease([&](lease& held) { kept = std::move(held); });
    EXPECT_FALSE(guarded.held_locally());
    EXPECT_FALSE(guarded.lost().stop_possible());
    guarded.unlock();
    EXPECT_TRUE(kept->held_locally());
}

TEST_F(handle_test, a_run_whose_lease_was_taken_out_is_abandoned) {
    std::optional<lease> kept;
    {
        task_run run = *once{mine_, "task", schedule::every(1h)}.start();
        kept = std::move(run.lease());
    }
    EXPECT_TRUE(kept->held_locally());
}

// As the end of the process does with a static object while a thread waits in it.
TEST_F(handle_test, a_wait_goes_on_in_a_mutex_that_another_thread_destroys) {
    session other{sound(), calm()};
    auto waits = std::make_optional<mutex>(mine_, name_);
    std::future<std::int64_t> waiting;
    auto held = mutex{other, name_}.acquire();  // goes first, so that the wait ends
    waiting = std::async(std::launch::async, [&] {
        acquisition got = waits->acquire();
        return got ? got->token().number : 0;
    });
    ASSERT_TRUE(eventually([&] { return list_waiters(sound(), name_).size() == 1; }));
    waits.reset();
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_EQ(waiting.get(), 2);
}

}  // namespace
}  // namespace leasehold::testing
