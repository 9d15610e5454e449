// The list of runs: when their tasks fire next, and which ones nobody has started.
#include <optional>
#include <string>

#include "conformance/once_suite.hpp"
#include "database/database.hpp"
#include "leasehold/once.hpp"
#include "leasehold/schedule.hpp"
#include "runs/run_store.hpp"

namespace leasehold::testing {
namespace {

// A fire time each second, and one that no test meets.
const schedule each_second = schedule::every(1s);
const schedule seldom = schedule::every(std::chrono::hours{300 * 24});

class runs_suite : public once_suite {};

TEST_F(runs_suite, a_list_has_the_next_fire_time_and_the_one_that_nobody_has_started) {
    session one{first_, calm("one")};
    const key name = fresh("task");
    {
        auto run = once{one, name, seldom, without_waiting()}.try_start();
        ASSERT_TRUE(run);
        const run_info begun = only(list_runs(second_, name.name()));
        EXPECT_EQ(begun.schedule_text, seldom.text());
        EXPECT_EQ(begun.next, seldom.next(run->tick()));
        EXPECT_FALSE(begun.overdue);
        EXPECT_EQ(run->finish(), finish_outcome::recorded);
    }
    EXPECT_EQ(
        only(list_runs(second_, name.name())).next, seldom.next(outlook(first_, name, seldom).tick)
    );
    // Each second one, which nobody starts; the record has the schedule of its last run.
    schedule::instant started{};
    {
        auto run = once{one, name, each_second, without_waiting()}.try_start();
        ASSERT_TRUE(run);
        started = run->tick();
    }
    std::optional<run_info> last;
    ASSERT_TRUE(eventually([&] {
        last = only(list_runs(second_, name.name()));
        return last->overdue.has_value();
    }));
    EXPECT_EQ(last->schedule_text, each_second.text());
    EXPECT_EQ(last->tick, started);
    EXPECT_GT(*last->overdue, started);
    EXPECT_EQ(last->next, each_second.next(*last->overdue));

    // Claims like an older program, and with a schedule that cannot be kept.
    const auto claim = [&](const key& task, std::string text) {
        first_.inner()->use([&](connection& on, store_set& stores) {
            const run_claim wanted{
                task, {1}, identity::random(), "older", started, 0us, true, std::move(text)};
            EXPECT_TRUE(stores.get<run_store>().claim(on, wanted));
        });
        return only(list_runs(second_, task.name()));
    };
    const run_info of_older = claim(fresh("older"), "");
    EXPECT_TRUE(of_older.schedule_text.empty());
    EXPECT_FALSE(of_older.next || of_older.overdue);
    const run_info strange = claim(fresh("strange"), "at noon (Atlantis)");
    EXPECT_EQ(strange.schedule_text, "at noon (Atlantis)");
    EXPECT_FALSE(strange.next || strange.overdue) << "a zone that this host does not know";
    const auto all_to = [](int greatest) {
        std::string list = "1";
        for (int each = 2; each <= greatest; ++each) list += "," + std::to_string(each);
        return list;
    };
    const auto wordy = schedule::cron(all_to(59) + " * " + all_to(31) + " * *");
    ASSERT_GT(wordy.text().size(), run_store::max_schedule_bytes);
    const key longest = fresh("long");
    auto run = once{one, longest, wordy}.try_start();
    ASSERT_TRUE(run);
    EXPECT_TRUE(only(list_runs(second_, longest.name())).schedule_text.empty());
}

TEST_F(runs_suite, the_words_of_whoever_runs_are_there_for_all) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("task");
    once_settings settings = without_waiting();
    settings.metadata = "quarterly figures";
    auto run = once{one, name, seldom, settings}.try_start();
    ASSERT_TRUE(run);
    EXPECT_EQ(describe(second_, name)->metadata, "quarterly figures");
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    settings.metadata = std::string(4001, 'x');
    const auto refused = thrown_by([&] { once{one, name, seldom, settings}; });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::invalid_argument);
}

}  // namespace
}  // namespace leasehold::testing
