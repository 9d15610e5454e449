// Records of run-once tasks: of two claims the greater token counts, in whatever order they come.
#include <barrier>

#include "conformance/suite.hpp"
#include "database/database.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/once.hpp"
#include "leasehold/row_claim.hpp"
#include "leasehold/schedule.hpp"
#include "runs/run_store.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class run_store_suite : public suite {
protected:
    run_claim claim_of(std::int64_t token, std::int64_t tick) const {
        run_claim made{name_, {token}, owner_id::random(), "node", schedule::instant{}};
        made.tick += std::chrono::microseconds{tick};
        return made;
    }
    bool claim(const run_claim& wanted) {
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<run_store>().claim(on, wanted);
        });
    }
    bool finish(const run_claim& claimed) {
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<run_store>().finish(
                on, {claimed.name, claimed.token, claimed.owner, {}}
            );
        });
    }

    const key name_ = fresh("task");
};

TEST_F(run_store_suite, a_claim_whose_answer_was_lost_is_ours_when_it_is_asked_again) {
    const run_claim mine = claim_of(5, 100);
    EXPECT_TRUE(claim(mine));
    EXPECT_TRUE(claim(mine));
    run_claim thief = mine;
    thief.owner = owner_id::random();
    EXPECT_FALSE(claim(thief)) << "the same token, another owner";
    EXPECT_FALSE(finish(thief));
    EXPECT_TRUE(finish(mine));
    EXPECT_TRUE(finish(mine)) << "asked again";
}

// A process that lost its lease between taking the lock and claiming the tick wakes up now.
TEST_F(run_store_suite, a_claim_with_a_lower_token_comes_too_late) {
    const run_claim stale = claim_of(5, 200), successor = claim_of(6, 100);
    EXPECT_TRUE(claim(successor));
    EXPECT_FALSE(claim(stale)) << "even for a newer tick";
    EXPECT_TRUE(finish(successor));
    EXPECT_FALSE(claim(stale));
    EXPECT_FALSE(finish(stale));
}

// The same before its successor claims: then its write is that of somebody without a lease.
TEST_F(run_store_suite, a_claim_with_a_greater_token_takes_an_unfinished_tick_over) {
    const run_claim stale = claim_of(5, 100);
    EXPECT_TRUE(claim(stale));
    run_claim careful = claim_of(6, 100);
    careful.may_repeat = false;
    EXPECT_FALSE(claim(careful));
    EXPECT_TRUE(claim(claim_of(7, 100)));
    EXPECT_FALSE(finish(stale));
    EXPECT_FALSE(claim(claim_of(8, 99))) << "an older tick";
    EXPECT_TRUE(claim(claim_of(8, 101)));
}

TEST_F(run_store_suite, the_first_record_of_a_name_raced_for_is_the_greatest_tokens_own) {
    constexpr int racers = 8, rounds = 5;
    for (int round = 0; round < rounds; ++round) {
        const key name = fresh("race");
        std::barrier together{racers};
        {
            std::vector<thread> threads;
            for (int each = 1; each <= racers; ++each) {
                threads.emplace_back([&, each] {
                    database own = current().open({});
                    run_claim mine = claim_of(each, 100);
                    mine.name = name;
                    together.arrive_and_wait();
                    try {
                        own.inner()->use([&](connection& on, store_set& stores) {
                            // Refused where the insert of another was under way: asked again.
                            for (int attempt = 0; attempt < 3; ++attempt) {
                                if (stores.get<run_store>().claim(on, mine)) return;
                            }
                        });
                    } catch (const error& failure) {
                        ADD_FAILURE() << failure.what() << ": " << failure.server_message();
                    }
                });
            }
        }
        const auto runs = list_runs(first_, name.name());
        ASSERT_EQ(runs.size(), 1U);
        EXPECT_EQ(runs[0].token.number, racers);
    }
}

}  // namespace
}  // namespace leasehold::testing
