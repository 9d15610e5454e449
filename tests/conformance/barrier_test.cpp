// leasehold::barrier counts a participant that waits, and does not count one that died.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <thread>

#include "conformance/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/semaphore.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class barrier_suite : public suite {
protected:
    barrier by(session& whose, std::int64_t participants) const {
        return {whose, name_, participants, {.min_poll = 1ms, .max_poll = 20ms}};
    }

    session one_{first_, calm("one")};
    session two_{second_, calm("two")};
    const key name_ = fresh("k");
};

TEST_F(barrier_suite, nobody_passes_before_all_are_there_and_all_pass_the_same_phases) {
    constexpr int participants = 3, phases = 6;
    std::atomic<int> arrived = 0;
    std::vector<std::vector<std::int64_t>> passed(participants);
    std::vector<thread> threads;
    for (int number = 0; number < participants; ++number) {
        threads.emplace_back([&, number] {
            database own = current().open({});
            session mine{own, calm("participant")};
            auto step = by(mine, participants);
            for (int phase = 1; phase <= phases; ++phase) {
                ++arrived;
                const auto got = step.arrive_and_wait_for(30s);
                ASSERT_TRUE(got);
                EXPECT_GE(arrived, phase * participants) << "one was missing";
                passed[static_cast<std::size_t>(number)].push_back(got->number);
            }
        });
    }
    threads.clear();
    EXPECT_EQ(passed[0].size(), std::size_t{phases});
    EXPECT_TRUE(std::is_sorted(passed[0].begin(), passed[0].end()));
    EXPECT_EQ(std::set(passed[0].begin(), passed[0].end()).size(), std::size_t{phases});
    EXPECT_EQ(passed[1], passed[0]);
    EXPECT_EQ(passed[2], passed[0]);
}

TEST_F(barrier_suite, whoever_leaves_waits_for_all_that_passed_with_it) {
    auto mine = by(one_, 2), other = by(two_, 2);
    acquisition theirs{std::nullopt, name_};
    thread coming{[&] { theirs = other.enter_for(60s); }};
    auto inside = mine.enter();
    coming.join();
    ASSERT_TRUE(inside && theirs);
    EXPECT_EQ(inside->token(), theirs->token()) << "the same phase";
    EXPECT_TRUE(inside->verify());
    EXPECT_EQ(list_holders(first_, name_).size(), 2U);
    std::atomic<bool> has_left = false;
    thread leaving{[&] {
        EXPECT_TRUE(mine.leave(std::move(*inside)));
        has_left = true;
    }};
    EXPECT_TRUE(eventually([&] { return list_holders(first_, name_).size() == 1; }));
    EXPECT_FALSE(has_left) << "the other one is at work";
    EXPECT_TRUE(other.leave(std::move(*theirs)));
    leaving.join();
    EXPECT_TRUE(list_holders(first_, name_).empty());
}

TEST_F(barrier_suite, who_leaves_does_not_wait_for_the_dead) {
    session dying{second_, calm("dying")};
    auto mine = by(one_, 2), its = by(dying, 2);
    acquisition theirs{std::nullopt, name_};
    thread coming{[&] { theirs = its.enter_for(60s); }};
    auto inside = mine.enter_for(60s);
    coming.join();
    ASSERT_TRUE(inside && theirs);
    expire(dying);
    EXPECT_TRUE(mine.leave_for(std::move(*inside), 60s));
}

TEST_F(barrier_suite, a_leaver_whose_lease_was_lost_is_told) {
    auto alone = by(one_, 1);
    auto inside = alone.enter();
    ASSERT_TRUE(inside);
    ASSERT_TRUE(force_release(second_, name_));
    const auto told = thrown_by([&] { (void)alone.leave(std::move(*inside)); });
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code(), errc::lease_lost) << told->what();
}

TEST_F(barrier_suite, a_leaver_whose_time_runs_out_has_left_all_the_same) {
    auto mine = by(one_, 2), other = by(two_, 2);
    acquisition theirs{std::nullopt, name_};
    thread coming{[&] { theirs = other.enter_for(60s); }};
    auto inside = mine.enter_for(60s);
    coming.join();
    ASSERT_TRUE(inside && theirs);
    EXPECT_FALSE(mine.leave_for(std::move(*inside), 1ms));
    EXPECT_EQ(list_holders(first_, name_).size(), 1U);
    // The next phase does not begin for a member that is inside still.
    thread again{[&] { EXPECT_TRUE(mine.arrive_and_wait_for(60s)); }};
    EXPECT_TRUE(by(two_, 2).arrive_and_wait_for(60s));
    again.join();
    std::stop_source cancel;
    cancel.request_stop();
    EXPECT_FALSE(other.leave(std::move(*theirs), cancel.get_token())) << "and nothing is asked";
    EXPECT_TRUE(list_holders(first_, name_).empty());
    auto alone = mutex{one_, fresh("m")}.try_acquire();
    const auto failure = thrown_by([&] { (void)mine.leave(std::move(*alone)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    EXPECT_TRUE(alone->verify()) << "it is still its owner's";
}

TEST_F(barrier_suite, who_gives_up_does_not_count) {
    auto mine = by(one_, 2);
    EXPECT_FALSE(mine.arrive_and_wait_for(30ms));
    EXPECT_FALSE(by(two_, 2).arrive_and_wait_for(30ms)) << "the first has gone";
    std::stop_source cancel;
    cancel.request_stop();
    EXPECT_FALSE(mine.arrive_and_wait(cancel.get_token()));
    EXPECT_FALSE(describe(first_, name_)->is_held);
}

// Three participants wait, and each gives up at a moment of its own while the last one arrives. If
// a round passed, the last one arrives a little later in the next round, and otherwise a little
// sooner. So on any machine about half of the rounds pass, and arrivals meet departures.
TEST_F(barrier_suite, all_pass_or_none_does_where_some_give_up_as_the_last_one_comes) {
    using std::chrono::nanoseconds;
    constexpr int leaving = 3, rounds = 60;
    const auto seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    std::mt19937_64 random{seed};
    nanoseconds lead = 0ms;  // by which the last one arrives before the others leave
    int passed = 0, gave_up = 0;
    const auto spin_until = [](std::chrono::steady_clock::time_point then) {
        while (std::chrono::steady_clock::now() < then) std::this_thread::yield();
    };
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::optional<fencing_token>> got(leaving + 1);
        std::vector<std::stop_source> cancel(leaving + 1);
        {
            std::vector<thread> threads;
            for (std::size_t number = 0; number < leaving; ++number) {
                threads.emplace_back([&, number] {
                    // Does nothing by itself between its arrival and its end.
                    barrier its{one_, name_, leaving + 1, {.min_poll = 30min, .max_poll = 30min}};
                    got[number] = its.arrive_and_wait_for(60s, cancel[number].get_token());
                    if (!got[number]) cancel.back().request_stop();
                });
            }
            ASSERT_TRUE(eventually([&] {
                const auto seen = describe(first_, name_);
                return seen && seen->holders == leaving;
            }));
            const auto start = std::chrono::steady_clock::now() + 1ms;
            threads.emplace_back([&, comes = start + std::max(-lead, nanoseconds{0})] {
                spin_until(comes);
                got.back() = by(two_, leaving + 1).arrive_and_wait(cancel.back().get_token());
            });
            for (std::size_t number = 0; number < leaving; ++number) {
                const nanoseconds apart{random() % 200'000};
                spin_until(start + std::max(lead, nanoseconds{0}) + apart);
                cancel[number].request_stop();
            }
        }
        for (const auto& each : got) {
            ASSERT_EQ(each.has_value(), got[0].has_value()) << "round " << round;
            if (each) {
                EXPECT_EQ(each->number, got[0]->number);
            }
        }
        ++(got[0] ? passed : gave_up);
        const auto most = std::max<std::int64_t>(200'000, std::abs(lead.count()) / 3);
        const nanoseconds step{random() % static_cast<std::uint64_t>(most)};
        lead += got[0] ? -step : step;
    }
    std::cout << passed << " passed, " << gave_up << " gave up, lead " << lead.count() << " ns\n";
    EXPECT_GT(passed, 0);
    EXPECT_GT(gave_up, 0);
}

TEST_F(barrier_suite, a_participant_that_died_while_it_waited_does_not_count) {
    session dying{first_, calm("dying")};
    std::stop_source cancel;
    thread participant{[&] {
        barrier its{dying, name_, 2, {.min_poll = 30min, .max_poll = 30min}};
        std::optional<fencing_token> passed;
        // It may find out that its place has gone, before it is cancelled.
        const auto failure = thrown_by([&] { passed = its.arrive_and_wait(cancel.get_token()); });
        if (failure) {
            EXPECT_EQ(failure->code(), errc::lease_lost) << failure->what();
        }
        EXPECT_FALSE(passed);
    }};
    EXPECT_TRUE(eventually([&] {
        const auto seen = describe(second_, name_);
        return seen && seen->is_held;
    }));
    expire(dying);
    EXPECT_FALSE(by(two_, 2).arrive_and_wait_for(50ms));
    cancel.request_stop();
}

TEST_F(barrier_suite, a_participant_whose_session_is_ended_is_told_at_once_and_does_not_count) {
    session ending{first_, calm("ending")};
    thread participant{[&] {
        barrier its{ending, name_, 2, {.min_poll = 30min, .max_poll = 30min}};
        const auto failure = thrown_by([&] { (void)its.arrive_and_wait(); });
        ASSERT_TRUE(failure) << "two have passed, of whom one had ended";
        EXPECT_EQ(failure->code(), errc::session_lost) << failure->what();
    }};
    EXPECT_TRUE(eventually([&] {
        const auto seen = describe(second_, name_);
        return seen && seen->is_held;
    }));
    ending.end();
    EXPECT_FALSE(by(two_, 2).arrive_and_wait_for(50ms));
    participant.join();
    EXPECT_FALSE(by(two_, 2).arrive_and_wait_for(50ms));
}

TEST_F(barrier_suite, who_is_freed_by_force_is_told_so) {
    thread participant{[&] {
        const auto failure = thrown_by([&] { (void)by(one_, 2).arrive_and_wait_for(20s); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::lease_lost);
    }};
    EXPECT_TRUE(eventually([&] { return force_release(second_, name_).has_value(); }));
}

TEST_F(barrier_suite, a_key_in_use_as_another_kind_is_refused_with_both_names) {
    const auto said_of = [&] {
        const auto failure = thrown_by([&] { (void)by(one_, 2).arrive_and_wait_for(5s); });
        if (!failure || failure->code() != errc::invalid_argument) return std::string{};
        return std::string(failure->what());
    };
    const auto has = [](const std::string& text, const char* word) {
        return text.find(word) != std::string::npos;
    };
    {
        auto held = mutex{two_, name_}.try_acquire();
        const auto said = said_of();
        EXPECT_TRUE(has(said, "as a mutex") && has(said, "as a barrier")) << said;
    }
    auto permit = semaphore{two_, name_, 2}.try_acquire();
    const auto said = said_of();
    EXPECT_TRUE(has(said, "as a semaphore") && has(said, "as a barrier")) << said;
    permit->release();
    EXPECT_TRUE(by(one_, 1).arrive_and_wait());
}

TEST_F(barrier_suite, one_alone_passes_at_once_and_numbers_that_make_no_sense_are_refused) {
    const auto first = by(one_, 1).arrive_and_wait();
    const auto second = by(two_, 1).arrive_and_wait();
    ASSERT_TRUE(first && second);
    EXPECT_GT(second->number, first->number);
    for (const std::int64_t count :
         {std::int64_t{0}, std::int64_t{-1}, barrier::max_participants + 1}) {
        const auto failure = thrown_by([&] { by(one_, count); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace leasehold::testing
