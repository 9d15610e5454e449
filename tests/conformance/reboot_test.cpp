// SQLite's times are those of a clock that begins anew with every boot: the leases of an earlier
// boot are free for the first one that writes, since nobody of that boot can be alive.
#include <algorithm>

#include "conformance/job_suite.hpp"
#include "conformance/suite.hpp"
#include "leasehold/grant_history.hpp"
#include "leasehold/semaphore.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class reboot_suite : public suite {
protected:
    // Makes the file look as after a new start of the machine.
    void reboot() {
        first_.inner()->use([&](connection& on, store_set&) {
            const std::string prefix = first_.inner()->settings().names.prefix;
            on.execute("UPDATE " + prefix + "fence_mark SET boot_id = 'of an earlier boot'");
        });
    }
};

TEST_F(reboot_suite, whatever_an_earlier_boot_has_left_is_free_and_tokens_go_on) {
    const key mine = fresh("mine"), term = fresh("term"), places = fresh("places");
    session old{first_, calm("old")};
    auto held = mutex{old, mine}.try_acquire();
    auto fixed = mutex{old, term, {.fixed_term = 10h}}.try_acquire();
    auto place = semaphore{old, places, 1}.try_acquire();
    ASSERT_TRUE(held && fixed && place);
    reboot();
    const database later = open();
    session fresh_one{later, calm("fresh")};
    const auto sessions = list_sessions(later);
    EXPECT_TRUE(std::none_of(sessions.begin(), sessions.end(), [&](const session_info& each) {
        return each.id == old.id();
    }));
    auto after = mutex{fresh_one, mine}.try_acquire();
    auto after_term = mutex{fresh_one, term}.try_acquire();
    auto after_place = semaphore{fresh_one, places, 1}.try_acquire();
    EXPECT_TRUE(after_term && after_place);
    ASSERT_TRUE(after);
    EXPECT_GT(after->token().number, held->token().number);
    EXPECT_FALSE(held->verify());
    EXPECT_FALSE(fixed->verify());
}

// Their times are of another clock: nobody knows for how long they were held.
TEST_F(reboot_suite, what_an_earlier_boot_has_left_ended_with_it) {
    const key mine = fresh("mine"), pool = fresh("pool");
    enable_grant_history(first_);
    session old{first_, calm("old")};
    auto held = mutex{old, mine}.try_acquire();
    auto permit = semaphore{old, pool, 1}.try_acquire();
    ASSERT_TRUE(held && permit);
    reboot();
    const database later = open();
    session fresh_one{later, calm("fresh")};
    auto after = mutex{fresh_one, mine}.try_acquire();
    ASSERT_TRUE(after);
    for (const key& each : {mine, pool}) {
        const auto found = list_grants_of(later, each);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].ending, grant_ending::expired);
        EXPECT_FALSE(found[0].held_for);
        EXPECT_LT(found[0].ended_ago, 1min);
    }
    disable_grant_history(later);
}

// The first caller frees the leases from before; the next one finds what was taken since.
TEST_F(reboot_suite, what_was_taken_since_the_reboot_stays) {
    const key name = fresh("k");
    reboot();
    const database one_db = open(), two_db = open();
    session one{one_db, calm("one")};
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    session two{two_db, calm("two")};
    EXPECT_FALSE(is_granted(mutex(two, name).try_acquire()));
    EXPECT_TRUE(held->verify());
}

// Its worker's session is gone, and what is due at a date stays due at that date.
TEST_F(reboot_suite, a_job_that_ran_when_the_machine_went_down_is_rescued) {
    const std::string queue = fresh("queue");
    const worker before{first_, queue};
    new_job planned;
    planned.delay = 2h;
    const auto ids = with_stores(first_, [&](connection& on, store_set& stores) {
        return stores.get<job_store>().enqueue(on, queue, {{}, planned});
    });
    const claimed_job lost = before.claim_one();
    reboot();
    const worker after{open(), queue};
    EXPECT_TRUE(after.claim(10).empty());
    with_stores(after.db, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<job_queue_store>().rescue(on, queue, 10, after.kept).rescued, 1);
        const auto due = stores.get<job_queue_store>().describe(on, ids.at(1).id).value().due_in;
        EXPECT_GT(due, 1h);
        EXPECT_LE(due, 2h);
    });
    const claimed_job again = after.claim_one();
    EXPECT_EQ(again.id, lost.id);
    EXPECT_GT(again.token.number, lost.token.number);
    EXPECT_FALSE(before.complete(lost));
    EXPECT_TRUE(after.complete(again));
}

}  // namespace
}  // namespace leasehold::testing
