// A call shortly before a tick means that one: hosts' clocks differ.
#include "conformance/once_suite.hpp"

namespace leasehold::testing {
namespace {

const schedule every_second = schedule::every(1s);

// A caller that is early, by the database's clock, means the tick to come, and waits for it.
TEST_F(once_suite, a_start_shortly_before_a_tick_waits_for_it) {
    session one{first_, calm("one")};
    const key name = fresh("task");
    once_settings settings;
    settings.max_early = 1h;  // half a second, since that is half of the period
    for (int round = 0; round < 3; ++round) {
        auto run = once{one, name, every_second, settings}.start();
        if (!run) continue;  // the tick of the round before
        const auto seen = outlook(second_, name, every_second, without_waiting());
        EXPECT_LE(run->tick(), seen.tick) << "no tick runs before its time";
        EXPECT_EQ(run->finish(), finish_outcome::recorded);
    }
}

// A host's clock may be ahead by more than some seconds.
TEST_F(once_suite, a_call_up_to_a_minute_before_a_tick_means_that_one) {
    using std::chrono::seconds;
    const key name = fresh("task");
    const auto now = outlook(first_, name, every_second, without_waiting()).tick.time_since_epoch();
    // A period that has a tick in 20 to 50 seconds, by the database's clock.
    const std::int64_t from = std::chrono::duration_cast<seconds>(now).count() + 20;
    std::int64_t period = 120;
    while ((from + 30) / period == (from - 1) / period) ++period;
    const schedule soon = schedule::every(seconds{period});
    session one{first_, calm("one")};
    EXPECT_EQ(
        ((*once{one, name, soon, without_waiting()}.try_start()).finish()), finish_outcome::recorded
    );
    EXPECT_EQ(outlook(second_, name, soon, without_waiting()).refusal, start_refusal::already_run);
    const auto seen = outlook(second_, name, soon);
    EXPECT_EQ(seen.refusal, start_refusal::none) << "the next one is in " << seen.next_in.count();
    EXPECT_GT(seen.next_in, 8s);
}

}  // namespace
}  // namespace leasehold::testing
