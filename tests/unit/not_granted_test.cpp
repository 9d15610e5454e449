// A program that takes a lease out of an answer without one is told which key it is about.
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/quorum_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class not_granted_test : public model_test {
protected:
    // Asks in each way there is; and a moved-from answer is not what this is about.
    template <class Answer>
    static void expect_told(Answer answer, const std::vector<std::string>& words) {
        EXPECT_FALSE(answer);
        EXPECT_FALSE(answer.has_value());
        const std::vector<std::function<void()>> ways{
            [&] { static_cast<void>(*answer); },
            [&] { static_cast<void>(answer.operator->()); },
            [&] { static_cast<void>(*std::move(answer)); },
        };
        for (const auto& take : ways) {
            const auto failure = thrown_by(take);
            ASSERT_TRUE(failure);
            EXPECT_EQ(failure->code(), errc::busy);
            EXPECT_EQ(make_error_code(failure->code()), std::errc::device_or_resource_busy);
            EXPECT_FALSE(failure->is_transient());
            for (const std::string& each : words) {
                EXPECT_NE(std::string{failure->what()}.find(each), std::string::npos)
                    << failure->what();
            }
        }
    }

    session one_{sound(), calm("one")};
    session two_{sound(), calm("two")};
};

TEST_F(not_granted_test, an_answer_with_a_lease_gives_it) {
    auto got = mutex{one_, name_}.try_acquire();
    EXPECT_TRUE(got.has_value());
    EXPECT_EQ((*got).key(), name_);
    EXPECT_EQ(got->token(), fencing_token{1});
    const lease taken = *std::move(got);
    EXPECT_TRUE(taken.held_locally());
    EXPECT_FALSE(got) << "the lease was taken out";
    EXPECT_EQ(thrown_by([&] { (void)got->token(); })->code(), errc::busy);
}

TEST_F(not_granted_test, the_key_and_its_holder_are_named) {
    const auto held = mutex{one_, "invoices/closing"}.try_acquire();
    expect_told(mutex{two_, "invoices/closing"}.try_acquire(), {"'invoices/closing'", "one@"});
    expect_told(mutex{two_, "invoices/closing"}.acquire_for(1ms), {"'invoices/closing'", "one@"});
}

TEST_F(not_granted_test, the_key_is_named_where_nobody_was_asked) {
    std::stop_source stopped;
    stopped.request_stop();
    expect_told(mutex{one_, "mine"}.acquire(stopped.get_token()), {"'mine'"});
    expect_told(semaphore{one_, "three", 3}.acquire(1, stopped.get_token()), {"'three'"});
    expect_told(multi_lock{one_, {"a", "b"}}.acquire(stopped.get_token()), {"'a', 'b'"});
    expect_told(
        once{one_, "nightly", schedule::every(1h)}.start(stopped.get_token()), {"'nightly'"}
    );
}

TEST_F(not_granted_test, permits_and_sets_of_keys_are_named) {
    const auto all = semaphore{one_, "three", 3}.try_acquire(3);
    expect_told(semaphore{two_, "three", 3}.try_acquire(), {"'three'", "one@"});
    const auto held = mutex{one_, "b"}.try_acquire();
    expect_told(multi_lock{two_, {"a", "b"}}.try_acquire(), {"'a', 'b'", "'b': one@"});
}

TEST_F(not_granted_test, a_task_that_ran_and_servers_that_refused_are_named) {
    const schedule rarely = schedule::every(std::chrono::hours{300 * 24});
    auto run = once{one_, "nightly", rarely}.try_start();
    ASSERT_TRUE(run.has_value());
    expect_told(once{two_, "nightly", rarely}.try_start(), {"'nightly'", "running"});
    quorum servers{{sound()}, {.session = calm("quorum")}};
    const auto held = mutex{one_, "leader"}.try_acquire();
    expect_told(quorum_lock{servers, "leader"}.try_acquire(), {"'leader'", "1 were busy"});
}

}  // namespace
}  // namespace leasehold::testing
