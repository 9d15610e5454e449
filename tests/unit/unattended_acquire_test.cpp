// Calls that wait for a mutex without a thread, on a database that breaks, hangs or is away: each
// has its answer in its time, once, and no key is lost with it.
#include <string>
#include <vector>

#include "database/database.hpp"
#include "database/unattended_calls.hpp"
#include "model_fixture.hpp"
#include "support/answers.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class unattended_acquire_test : public model_test {
protected:
    void cut() {
        plan_->fail_when([](std::string_view, int) { return fault::lost_before_sending; });
    }
    void hang() {
        plan_->fail_when([](std::string_view, int) { return fault::hangs; });
    }
    bool is_waited_for(const key& name) {
        return eventually([&] {
            const auto found = describe(sound_, name);
            return found && found->waiters == 1;
        });
    }
    static std::optional<errc> failure_of(const answer& told) {
        std::optional<errc> code;
        const auto failure = thrown_by([&] { EXPECT_FALSE(is_granted(told.get())); });
        if (failure) code = failure->code();
        return code;
    }

    database sound_ = sound();
};

TEST_F(unattended_acquire_test, an_outage_longer_than_the_ttl_ends_it_and_the_key_is_not_lost) {
    session other{sound_, calm("other")}, one{patient(), brief()};
    auto held = mutex{other, name_}.try_acquire();
    const answer told;
    mutex{one, name_}.acquire_async({}, told.taker());
    ASSERT_TRUE(is_waited_for(name_));
    cut();
    ASSERT_TRUE(stopped(one.lost(), 20s));
    EXPECT_EQ(failure_of(told), errc::session_lost);
    plan_->heal();
    held->release();
    EXPECT_TRUE(mutex(other, name_).acquire_for(20s));
    EXPECT_EQ(told.times(), 1);
}

TEST_F(unattended_acquire_test, one_in_a_queue_ends_by_its_deadline_in_an_outage) {
    session other{sound_, calm("other")}, one{patient(), calm()};
    auto held = mutex{other, name_}.try_acquire();
    const answer told;
    const auto start = local_clock::now();
    mutex{one, name_}.acquire_async({.timeout = 3s}, told.taker());
    ASSERT_TRUE(is_waited_for(name_));
    cut();
    ASSERT_TRUE(told.has_come());
    EXPECT_LT(local_clock::now() - start, 10s) << "the time-outs are 60 s";
    EXPECT_EQ(told.times(), 1);
}

// The threads for statements all hang, and no call that is left is late for that.
TEST_F(
    unattended_acquire_test, those_no_thread_comes_to_end_by_their_deadlines_and_when_cancelled
) {
    const database db = patient();
    session one{db, calm()};
    hang();
    constexpr int workers = unattended_calls::max_workers;
    std::stop_source stop;
    std::vector<answer> hanging(workers), late(5), cancelled(5);
    for (const answer& each : hanging) mutex{one, name_}.acquire_async({}, each.taker());
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    ASSERT_TRUE(eventually([&] { return db.inner()->unattended().threads() == workers + 2; }));
    const auto start = local_clock::now();
    for (const answer& each : late) {
        mutex{one, name_}.acquire_async({.timeout = 2s}, each.taker());
    }
    for (const answer& each : cancelled) {
        mutex{one, name_}.acquire_async({.cancel = stop.get_token()}, each.taker());
    }
    for (const answer& each : late) EXPECT_EQ(failure_of(each), errc::timed_out);
    EXPECT_LT(local_clock::now() - start, 15s) << "the time-outs are 60 s";
    for (const answer& each : cancelled) EXPECT_EQ(each.times(), 0);
    stop.request_stop();
    for (const answer& each : cancelled) EXPECT_FALSE(is_granted(each.get()));
    plan_->let_go();
    plan_->heal();
    one.end();
    for (const std::vector<answer>& all : {hanging, late, cancelled}) {
        for (const answer& each : all) {
            EXPECT_TRUE(each.has_come());
            EXPECT_EQ(each.times(), 1);
        }
    }
}

TEST_F(
    unattended_acquire_test, whichever_statement_fails_it_is_answered_once_and_the_key_not_lost
) {
    session other{sound_, calm("other")};
    for (const fault how : all_faults) {
        for (int number = 1; number <= 8; ++number) {
            SCOPED_TRACE(std::string{name_of(how)} + " " + std::to_string(number));
            session one{faulty(), eager()};
            const key name{"k/" + std::string{name_of(how)} + std::to_string(number)};
            auto held = mutex{other, name}.try_acquire();
            plan_->fail_call(number, how);
            const answer told;
            mutex{one, name}.acquire_async({.timeout = 20s}, told.taker());
            EXPECT_TRUE(eventually([&] {
                const auto found = describe(sound_, name);
                return told.times() > 0 || (found && found->waiters == 1);
            }));
            held->release();
            ASSERT_TRUE(told.has_come());
            plan_->heal();
            plan_->carry_out_the_late();
            static_cast<void>(thrown_by([&] {
                auto got = told.get();
                EXPECT_TRUE(!got || got->verify());
            }));
            EXPECT_TRUE(mutex(other, name).acquire_for(20s)) << "somebody has it";
            EXPECT_EQ(told.times(), 1);
        }
    }
}

}  // namespace
}  // namespace leasehold::testing
