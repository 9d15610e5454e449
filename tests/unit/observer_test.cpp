// The names of events, their texts, and telling several observers.
#include "leasehold/observer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "leasehold/session.hpp"
#include "support/told_events.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

TEST(event, every_kind_and_reason_has_a_name_of_its_own) {
    std::set<std::string> names;
    for (int kind = 1; kind <= 22; ++kind) {
        names.insert(name_of(static_cast<event_kind>(kind)));
    }
    EXPECT_EQ(names.size(), 22U);
    EXPECT_FALSE(names.contains("unknown"));
    names.clear();
    for (int reason = 0; reason <= 28; ++reason) {
        names.insert(name_of(static_cast<event_reason>(reason)));
    }
    EXPECT_EQ(names.size(), 29U);
    EXPECT_STREQ(name_of(event_reason::unknown), "unknown") << "it is what nobody knows";
    EXPECT_STREQ(name_of(static_cast<event_reason>(29)), "unknown");
    EXPECT_STREQ(name_of(static_cast<event_reason>(-1)), "unknown");
    EXPECT_STREQ(name_of(static_cast<event_kind>(0)), "unknown");
    EXPECT_STREQ(name_of(event_reason::cancelled), "cancelled");
    EXPECT_STREQ(name_of(event_reason::forced), "forced");
    EXPECT_STREQ(name_of(event_reason::found_free), "found_free");
}

// Metrics and logs of both are compared.
TEST(event, a_loss_is_called_as_the_lease_calls_it) {
    for (int number = 0; number <= 5; ++number) {
        EXPECT_STREQ(
            name_of(static_cast<event_reason>(number)), name_of(static_cast<loss_reason>(number))
        );
    }
}

TEST(event, levels_tell_what_to_look_at) {
    EXPECT_EQ(level_of({event_kind::granted}), event_level::debug);
    EXPECT_EQ(level_of({event_kind::reconnected}), event_level::info);
    EXPECT_EQ(level_of({event_kind::warning}), event_level::warning);
    event lost{event_kind::lost};
    lost.reason = event_reason::expired;
    EXPECT_EQ(level_of(lost), event_level::error);
    lost.reason = event_reason::session_ended;
    EXPECT_EQ(level_of(lost), event_level::info);
    EXPECT_STREQ(name_of(event_level::warning), "warning");
    using why = event_reason;
    const auto of_end = [](why how) { return level_of({event_kind::job_ended, "", 1, "", how}); };
    for (const auto each :
         {event_kind::job_started, event_kind::job_enqueued, event_kind::job_claimed}) {
        EXPECT_EQ(level_of({each}), event_level::debug) << name_of(each);
    }
    EXPECT_EQ(level_of({event_kind::job_timed_out}), event_level::warning);
    EXPECT_EQ(of_end(why::completed), event_level::debug);
    for (const why each : {why::snoozed, why::released, why::cancelled}) {
        EXPECT_EQ(of_end(each), event_level::info) << name_of(each);
    }
    for (const why each : {why::retried, why::discarded, why::lost, why::unknown}) {
        EXPECT_EQ(of_end(each), event_level::warning) << name_of(each);
    }
}

event told_of_a_job() {
    event what{event_kind::job_ended, "", 12, "no paper", event_reason::retried, 1200us};
    what.queue = "mail";
    what.job_kind = "con\nfirm";
    what.attempt = 2;
    return what;
}

TEST(event, reads_as_one_line) {
    EXPECT_EQ(
        text_of({event_kind::granted, "a\nb", 5, "", event_reason::tried, 1200us}),
        "granted 'a?b', token 5, tried, 0.0012 s"
    );
    EXPECT_EQ(
        text_of({event_kind::lost, "k", 5, "expired", event_reason::expired}),
        "lost 'k', token 5: expired"
    );
    EXPECT_EQ(
        text_of({event_kind::reaped, "", 3, "rows of the dead", event_reason::dead_rows}),
        "reaped, number 3, dead_rows: rows of the dead"
    );
    EXPECT_EQ(text_of({event_kind::reconnected}), "reconnected");
    EXPECT_EQ(
        text_of(told_of_a_job()),
        "job_ended in queue 'mail', job 12 of kind 'con?firm', attempt 2, retried, 0.0012 s: "
        "no paper"
    );
    event claimed = told_of_a_job();
    claimed.waited = 2s;
    EXPECT_NE(text_of(claimed).find(", 0.0012 s, waited 2 s: no paper"), std::string::npos);
    event enqueued{event_kind::job_enqueued, "", 12};
    enqueued.queue = "mail";
    enqueued.job_kind = "confirm";
    EXPECT_EQ(text_of(enqueued), "job_enqueued in queue 'mail', job 12 of kind 'confirm'");
    event rescued{event_kind::job_rescued, "", 3, "", event_reason::released};
    rescued.queue = "mail";
    EXPECT_EQ(text_of(rescued), "job_rescued in queue 'mail', number 3, released");
}

TEST(observers, all_are_told_in_their_order) {
    struct noting final : observer {
        noting(std::string& to, char what) : to_(to), what_(what) {}
        void on_event(const event&) noexcept override { to_ += what_; }
        std::string& to_;
        const char what_;
    };
    std::string told;
    observers both{
        std::make_shared<noting>(told, 'a'), nullptr, std::make_shared<noting>(told, 'b')};
    both.on_event({event_kind::granted});
    both.on_event({event_kind::released});
    EXPECT_EQ(told, "abab");
    observers{std::vector<observers::pointer>{}}.on_event({event_kind::granted});
    const auto log = std::make_shared<told_events>();
    observers one{std::vector<observers::pointer>{log}};
    one.on_event({event_kind::granted, "k", 5, "d", event_reason::tried, 1ms});
    const auto kept = log->only(event_kind::granted, "k");
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->number, 5);
    EXPECT_EQ(kept->detail, "d");
    EXPECT_EQ(kept->took, 1ms);
}

}  // namespace
}  // namespace leasehold::testing
