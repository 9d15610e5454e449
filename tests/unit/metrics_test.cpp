// The observer that counts: it prints Prometheus' format to the letter, and counts right.
#include "leasehold/metrics.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "leasehold/error.hpp"
#include "leasehold/observer.hpp"
#include "support/exposition_reader.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using labels = exposition_reader::labels;

event told(
    event_kind kind,
    event_reason why = event_reason::none,
    std::optional<std::chrono::nanoseconds> took = std::nullopt,
    std::string_view key = "k"
) {
    return {kind, key, 1, "", why, took};
}

std::string refusal_of(const std::string& page) {
    try {
        const exposition_reader reader{page};
        return "";
    } catch (const std::runtime_error& failure) {
        return failure.what();
    }
}

TEST(exposition_reader, refuses_what_is_not_the_format) {
    const std::string head = "# HELP a_total Some.\n# TYPE a_total counter\n";
    const std::string times = "# HELP t Some.\n# TYPE t histogram\n";
    EXPECT_EQ(refusal_of(head + "a_total 1\n"), "");
    EXPECT_EQ(refusal_of(head + "a_total{b=\"c\\n\\\\\\\"\",d=\"\"} 1\n"), "");
    for (const std::string& wrong : {
             head + "a_total 1",
             head + "b_total 1\n",
             head + head + "a_total 1\n",
             head + "a_total 1\na_total 2\n",
             head + "a_total -1\n",
             head + "a_total  1\n",
             head + "a_total one\n",
             head + "a_total{b=c} 1\n",
             head + "a_total{b=\"\\t\"} 1\n",
             head + "a_total{b=\"c\"d=\"e\"} 1\n",
             head + "a_total{b=\"c\",b=\"d\"} 1\n",
             head + "a_total{0b=\"c\"} 1\n",
             head + "a_total{__b=\"c\"} 1\n",
             head + "a_total{b=\"c\n\"} 1\n",
             head + "a_total{b=\"\xff\"} 1\n",
             std::string{"a_total 1\n"},
             std::string{"# TYPE a_total counter\na_total 1\n"},
             std::string{"# HELP a Some.\n# TYPE a counter\na 1\n"},
             times + "t_bucket{le=\"1\"} 1\nt_sum 1\nt_count 1\n",
             times + "t_bucket{le=\"1\"} 2\nt_bucket{le=\"+Inf\"} 1\nt_sum 1\nt_count 1\n",
             times + "t_bucket{le=\"+Inf\"} 1\nt_sum 1\nt_count 2\n",
             times + "t_bucket{le=\"+Inf\"} 1\nt_count 1\n",
         }) {
        EXPECT_NE(refusal_of(wrong), "") << wrong;
    }
}

TEST(metrics, every_series_without_a_key_is_there_from_the_start) {
    const metrics counts;
    const exposition_reader page{counts.text()};
    EXPECT_EQ(page.types().size(), 19U);
    EXPECT_EQ(page.value("leasehold_grants_total", {{"reason", "handed_over"}}), 0);
    EXPECT_EQ(page.value("leasehold_lost_sessions_total", {{"reason", "expired"}}), 0);
    EXPECT_EQ(page.value("leasehold_warnings_total"), 0);
    EXPECT_EQ(page.value("leasehold_hold_seconds_count", {{"outcome", "lost"}}), 0);
    for (const auto& each : page.samples()) EXPECT_EQ(each.value, 0) << each.name;
}

// All pairs of the table in observer.hpp: each moves exactly one counter.
TEST(metrics, every_event_has_its_own_series) {
    struct expected {
        event_kind kind;
        const char* family;
        std::vector<event_reason> reasons;
    };
    using kind = event_kind;
    using why = event_reason;
    const std::vector<expected> table{
        {kind::granted, "grants", {why::tried, why::handed_over, why::adopted}},
        {kind::refused, "refusals", {why::busy, why::already_run, why::closed}},
        {kind::released, "releases", {why::released, why::forced, why::rolled_back}},
        {kind::lost,
         "lost_leases",
         {why::expired, why::ended_by_server, why::taken_over, why::session_ended}},
        {kind::late_heartbeat, "late_heartbeats", {why::failed, why::slow}},
        {kind::stale_token_refused, "stale_tokens_refused", {}},
        {kind::outcome_unknown, "doubts", {}},
        {kind::doubt_settled, "doubts_settled", {why::not_granted, why::released, why::given_up}},
        {kind::release_failed, "failed_releases", {}},
        {kind::reconnected, "reconnects", {}},
        {kind::reaped, "reaped", {why::dead_rows}},
        {kind::job_rescued, "jobs_rescued", {why::released, why::discarded}},
        {kind::warning, "warnings", {}},
        {kind::revoke_requested, "revocations_requested", {}},
        {kind::handed_over, "hand_overs", {why::released, why::found_free}},
    };
    for (const expected& each : table) {
        std::vector<why> reasons = each.reasons;
        if (reasons.empty()) reasons.push_back(why::none);
        for (const why reason : reasons) {
            metrics counts;
            counts.on_event(told(each.kind, reason));
            const exposition_reader page{counts.text()};
            double sum = 0;
            for (const auto& sample : page.samples()) sum += sample.value;
            EXPECT_EQ(sum, 1) << each.family;
            labels by;
            if (reason != why::none) by.emplace("reason", name_of(reason));
            const std::string name = std::string{"leasehold_"} + each.family + "_total";
            EXPECT_EQ(page.value(name, by), 1) << name << name_of(reason);
        }
    }
}

TEST(metrics, a_loss_without_a_key_is_a_sessions) {
    metrics counts;
    counts.on_event(told(event_kind::lost, event_reason::expired, std::nullopt, ""));
    const exposition_reader page{counts.text()};
    EXPECT_EQ(page.value("leasehold_lost_sessions_total", {{"reason", "expired"}}), 1);
    EXPECT_EQ(page.value("leasehold_lost_leases_total", {{"reason", "expired"}}), 0);
}

TEST(metrics, what_is_reaped_counts_by_its_number) {
    metrics counts;
    counts.on_event({event_kind::reaped, "", 40, "", event_reason::dead_rows});
    counts.on_event({event_kind::reaped, "", 2, "", event_reason::dead_rows});
    counts.on_event({event_kind::reaped, "", -1, "", event_reason::dead_rows});
    const exposition_reader page{counts.text()};
    EXPECT_EQ(page.value("leasehold_reaped_total", {{"reason", "dead_rows"}}), 42);
}

TEST(metrics, a_doubt_that_was_settled_at_once_was_one) {
    metrics counts;
    counts.on_event(told(event_kind::doubt_settled, event_reason::granted));
    counts.on_event(told(event_kind::outcome_unknown));
    counts.on_event(told(event_kind::doubt_settled, event_reason::released));
    const exposition_reader page{counts.text()};
    EXPECT_EQ(page.value("leasehold_doubts_total"), 2);
    EXPECT_EQ(page.value("leasehold_doubts_settled_total", {{"reason", "granted"}}), 1);
    EXPECT_EQ(page.value("leasehold_doubts_settled_total", {{"reason", "released"}}), 1);
}

TEST(metrics, times_go_into_the_bucket_whose_end_they_do_not_pass) {
    metrics_settings settings;
    settings.bounds = {1ms, 10ms, 2500ms};
    metrics counts{settings};
    const auto add = [&](std::chrono::nanoseconds took) {
        counts.on_event(told(event_kind::released, event_reason::released, took));
    };
    for (const std::chrono::nanoseconds took : {0ns, 1'000'000ns, 1'000'001ns, 10'000'000ns}) {
        add(took);
    }
    add(2500ms);
    add(3s);
    add(-5ns);  // no clock should, and none hurts
    const exposition_reader page{counts.text()};
    const auto until = [&](const char* end) {
        return page.value("leasehold_hold_seconds_bucket", {{"outcome", "released"}, {"le", end}});
    };
    EXPECT_EQ(until("0.001"), 3);
    EXPECT_EQ(until("0.01"), 5);
    EXPECT_EQ(until("2.5"), 6);
    EXPECT_EQ(until("+Inf"), 7);
    EXPECT_EQ(page.value("leasehold_hold_seconds_count", {{"outcome", "released"}}), 7);
    EXPECT_DOUBLE_EQ(
        page.value("leasehold_hold_seconds_sum", {{"outcome", "released"}}).value(), 5.512000001
    );
}

TEST(metrics, each_time_is_told_apart_by_how_it_ended) {
    metrics counts;
    using why = event_reason;
    counts.on_event(told(event_kind::granted, why::tried, 1ms));
    counts.on_event(told(event_kind::granted, why::handed_over, 1s));
    counts.on_event(told(event_kind::granted, why::adopted, 1ms));  // was not waited for
    counts.on_event(told(event_kind::waited_in_vain, why::timed_out, 1s));
    counts.on_event(told(event_kind::waited_in_vain, why::cancelled, 1s));
    counts.on_event(told(event_kind::lost, why::expired, 1s));
    counts.on_event(told(event_kind::released, why::forced));
    for (const why each : {why::granted, why::timed_out, why::cancelled}) {
        counts.on_event(told(event_kind::connection_waited, each, 1ms, ""));
    }
    const exposition_reader page{counts.text()};
    const auto counted = [&](const std::string& of, const char* outcome) {
        return page.value("leasehold_" + of + "_seconds_count", {{"outcome", outcome}});
    };
    EXPECT_EQ(counted("wait", "granted"), 2);
    EXPECT_EQ(counted("wait", "timed_out"), 1);
    EXPECT_EQ(counted("wait", "cancelled"), 1);
    EXPECT_EQ(counted("hold", "lost"), 1);
    EXPECT_EQ(counted("hold", "released"), 0);
    for (const char* const each : {"granted", "timed_out", "cancelled"}) {
        EXPECT_EQ(counted("connection_wait", each), 1) << each;
    }
}

TEST(metrics, keys_are_counted_under_few_labels) {
    metrics_settings settings;
    settings.label_name = "work";
    settings.max_labels = 2;
    settings.label_of_key = [](std::string_view key) {
        if (key == "broken") throw std::runtime_error("no label");
        return std::string{key.substr(0, key.find('/'))};
    };
    metrics counts{settings};
    for (const char* const key : {"a/1", "a/2", "b/1", "c/1", "d/1", "broken", "other/1"}) {
        counts.on_event(told(event_kind::granted, event_reason::tried, 1ms, key));
    }
    counts.on_event(told(event_kind::warning, event_reason::none, std::nullopt, ""));
    counts.on_event(told(event_kind::warning, event_reason::none, std::nullopt, "a/1"));
    const exposition_reader page{counts.text()};
    const auto grants = [&](const char* work) {
        return page.value("leasehold_grants_total", {{"work", work}, {"reason", "tried"}});
    };
    EXPECT_EQ(grants("a"), 2);
    EXPECT_EQ(grants("b"), 1);
    EXPECT_EQ(grants("other"), 4);
    EXPECT_FALSE(grants("c"));
    EXPECT_FALSE(page.value("leasehold_grants_total", {{"reason", "tried"}}))
        << "a sum beside its parts would count twice";
    EXPECT_EQ(page.value("leasehold_warnings_total"), 1);
    EXPECT_EQ(page.value("leasehold_warnings_total", {{"work", "a"}}), 1);
    EXPECT_EQ(page.value("leasehold_reconnects_total"), 0);
    const labels of_a{{"work", "a"}, {"outcome", "granted"}};
    EXPECT_EQ(page.value("leasehold_wait_seconds_count", of_a), 2);
}

TEST(metrics, any_bytes_may_be_a_label) {
    const std::string odd = "a\\b\"c\nd\te\xc3\xa4";
    metrics_settings settings;
    settings.label_of_key = [](std::string_view key) { return std::string{key}; };
    metrics counts{settings};
    counts.on_event(told(event_kind::granted, event_reason::tried, 1ms, odd));
    counts.on_event(told(event_kind::granted, event_reason::tried, 1ms, "x\xff"));
    const exposition_reader page{counts.text()};
    EXPECT_EQ(page.value("leasehold_grants_total", {{"key", odd}, {"reason", "tried"}}), 1);
    const std::string replaced = "x\xef\xbf\xbd";
    EXPECT_EQ(page.value("leasehold_grants_total", {{"key", replaced}, {"reason", "tried"}}), 1);
}

event told_of_job(
    event_kind kind,
    std::string_view queue,
    std::string_view of,
    event_reason how = event_reason::none,
    std::optional<std::chrono::nanoseconds> took = std::nullopt
) {
    event made{kind, "", 12, "", how, took};
    made.queue = queue;
    made.job_kind = of;
    made.attempt = 1;
    return made;
}

// A rate does not see the first increase of a series that begins with it.
TEST(metrics, all_outcomes_of_a_kind_are_there_when_its_first_job_has_started) {
    metrics counts;
    counts.on_event(told_of_job(event_kind::job_started, "mail", "confirm"));
    const exposition_reader page{counts.text()};
    const labels by{{"queue", "mail"}, {"kind", "confirm"}};
    EXPECT_EQ(page.value("leasehold_jobs_started_total", by), 1);
    EXPECT_EQ(page.value("leasehold_job_run_seconds_count", by), 0);
    for (const char* const each :
         {"completed",
          "retried",
          "snoozed",
          "released",
          "discarded",
          "cancelled",
          "lost",
          "unknown"}) {
        labels with = by;
        with.emplace("outcome", each);
        EXPECT_EQ(page.value("leasehold_jobs_ended_total", with), 0) << each;
    }
}

TEST(metrics, ends_of_jobs_count_by_queue_kind_and_outcome) {
    metrics counts;
    using why = event_reason;
    const auto end = [&](const char* queue, why how) {
        counts.on_event(told_of_job(event_kind::job_ended, queue, "k", how, 500ms));
    };
    end("a", why::completed);
    end("a", why::completed);
    end("a", why::discarded);
    end("b", why::discarded);
    end("b", why::tried);  // what a later version tells
    counts.on_event(told_of_job(event_kind::job_ended, "b", "k", why::released));
    const exposition_reader page{counts.text()};
    const auto ended = [&](const char* queue, const char* outcome) {
        return page.value(
            "leasehold_jobs_ended_total", {{"queue", queue}, {"kind", "k"}, {"outcome", outcome}}
        );
    };
    EXPECT_EQ(ended("a", "completed"), 2);
    EXPECT_EQ(ended("a", "discarded"), 1);
    EXPECT_EQ(ended("b", "discarded"), 1);
    EXPECT_EQ(ended("b", "completed"), 0);
    EXPECT_EQ(ended("b", "released"), 1);
    const labels of_a{{"queue", "a"}, {"kind", "k"}}, of_b{{"queue", "b"}, {"kind", "k"}};
    EXPECT_EQ(page.value("leasehold_job_run_seconds_count", of_a), 3);
    EXPECT_EQ(page.value("leasehold_job_run_seconds_sum", of_a), 1.5);
    EXPECT_EQ(page.value("leasehold_job_run_seconds_count", of_b), 1) << "one had not started";
}

TEST(metrics, waits_attempts_and_jobs_in_flight_are_of_queue_and_kind) {
    metrics_settings settings;
    settings.bounds = {1s, 10s};
    metrics counts{settings};
    const auto add = [&](event_kind kind, event_reason how, int attempt) {
        event made = told_of_job(kind, "q", "k", how);
        made.attempt = attempt;
        made.waited = 5s;
        if (kind == event_kind::job_ended) made.took = 1ms;
        counts.on_event(made);
    };
    using why = event_reason;
    add(event_kind::job_enqueued, why::none, 0);
    add(event_kind::job_claimed, why::none, 1);
    for (const int attempt : {1, 2, 4, 25}) add(event_kind::job_started, why::none, attempt);
    add(event_kind::job_ended, why::retried, 1);
    add(event_kind::job_timed_out, why::none, 4);
    add(event_kind::job_ended, why::completed, 4);
    add(event_kind::job_ended, why::discarded, 25);
    counts.on_event(told_of_job(event_kind::job_ended, "q", "k", why::cancelled));  // had not begun
    const exposition_reader page{counts.text()};
    const labels by{{"queue", "q"}, {"kind", "k"}};
    const auto until = [&](const char* name, const char* end) {
        labels with = by;
        with.emplace("le", end);
        return page.value(std::string{"leasehold_"} + name + "_bucket", with);
    };
    EXPECT_EQ(page.value("leasehold_jobs_enqueued_total", by), 1);
    EXPECT_EQ(page.value("leasehold_jobs_claimed_total", by), 1);
    EXPECT_EQ(page.value("leasehold_jobs_started_total", by), 4);
    EXPECT_EQ(page.value("leasehold_jobs_timed_out_total", by), 1);
    EXPECT_EQ(page.value("leasehold_jobs_in_flight", by), 1);
    EXPECT_EQ(until("job_wait_seconds", "1"), 0);
    EXPECT_EQ(until("job_wait_seconds", "10"), 4);
    EXPECT_EQ(page.value("leasehold_job_wait_seconds_sum", by), 20);
    EXPECT_EQ(until("job_attempts", "1"), 1);
    EXPECT_EQ(until("job_attempts", "3"), 1);
    EXPECT_EQ(until("job_attempts", "5"), 2);
    EXPECT_EQ(until("job_attempts", "20"), 2);
    EXPECT_EQ(until("job_attempts", "100"), 3);
    EXPECT_EQ(page.value("leasehold_job_attempts_sum", by), 30);
}

TEST(metrics, jobs_are_counted_under_few_labels) {
    metrics_settings settings;
    settings.max_labels = 2;
    metrics counts{settings};
    for (const char* const kind : {"a", "b", "c", "d", "a"}) {
        counts.on_event(told_of_job(event_kind::job_started, "q", kind));
    }
    counts.on_event({event_kind::job_rescued, "", 5, "", event_reason::discarded});
    const exposition_reader page{counts.text()};
    const auto started = [&](const char* queue, const char* kind) {
        return page.value("leasehold_jobs_started_total", {{"queue", queue}, {"kind", kind}});
    };
    EXPECT_EQ(started("q", "a"), 2);
    EXPECT_EQ(started("q", "b"), 1);
    EXPECT_EQ(started("other", "other"), 2);
    EXPECT_FALSE(started("q", "c"));
    EXPECT_EQ(page.value("leasehold_jobs_rescued_total", {{"reason", "discarded"}}), 5);
}

TEST(metrics, settings_that_cannot_be_are_refused) {
    const auto is_refused = [](metrics_settings settings) {
        try {
            const metrics counts{std::move(settings)};
        } catch (const error& failure) {
            return failure.code() == errc::invalid_argument;
        }
        return false;
    };
    using times = std::vector<std::chrono::nanoseconds>;
    const times many(51, 1ns);
    for (const times& each : {times{}, times{1s, 1s}, times{2s, 1s}, times{0s, 1s}, many}) {
        metrics_settings settings;
        settings.bounds = each;
        EXPECT_TRUE(is_refused(settings));
    }
    for (const char* const name : {"", "0a", "a-b", "__a", "reason", "outcome", "le", "state"}) {
        metrics_settings settings;
        settings.label_name = name;
        EXPECT_TRUE(is_refused(settings)) << name;
    }
    EXPECT_FALSE(is_refused({}));
}

TEST(metrics, what_a_later_version_tells_changes_nothing) {
    metrics counts;
    counts.on_event(told(static_cast<event_kind>(99)));
    counts.on_event(told(static_cast<event_kind>(-1)));
    counts.on_event(told(event_kind::granted, static_cast<event_reason>(99), 1ms));
    const exposition_reader read{counts.text()};
    for (const auto& each : read.samples()) {
        EXPECT_EQ(each.value, 0) << each.name;
    }
}

TEST(metrics, threads_lose_no_count) {
    constexpr int threads = 4, events = 20'000;
    metrics_settings settings;
    settings.max_labels = 3;
    settings.label_of_key = [](std::string_view key) { return std::string{key}; };
    metrics counts{settings};
    {
        std::vector<std::jthread> all;
        for (int number = 0; number < threads; ++number) {
            all.emplace_back([&, key = std::to_string(number)] {
                for (int at = 0; at < events; ++at) {
                    counts.on_event(told(event_kind::granted, event_reason::tried, 1ms, key));
                }
            });
        }
        // Meanwhile each page is whole.
        for (int page = 0; page < 20; ++page) EXPECT_EQ(refusal_of(counts.text()), "");
    }
    double sum = 0;
    const exposition_reader page{counts.text()};
    for (const auto& each : page.samples()) {
        if (each.name == "leasehold_grants_total") sum += each.value;
    }
    EXPECT_EQ(sum, threads * events);
}

TEST(metrics, the_use_of_a_pool_is_printed_with_its_database) {
    memory_database model;
    database_settings settings;
    settings.max_connections = 3;
    const database db = model.open(settings);
    const metrics counts;
    EXPECT_FALSE(exposition_reader{counts.text()}.value("leasehold_connections_max"));
    {
        transaction open = db.begin();
        const exposition_reader page{counts.text(db)};
        EXPECT_EQ(page.value("leasehold_connections", {{"state", "lent"}}), 1);
        EXPECT_EQ(page.value("leasehold_connections", {{"state", "idle"}}), 0);
        EXPECT_EQ(page.value("leasehold_connections_max"), 3);
    }
    const exposition_reader page{counts.text(db)};
    EXPECT_EQ(page.value("leasehold_connections", {{"state", "lent"}}), 0);
    EXPECT_EQ(page.value("leasehold_connections", {{"state", "idle"}}), 1);
}

}  // namespace
}  // namespace leasehold::testing
