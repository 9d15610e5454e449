// Statistics, plots and sentences that a measurement makes of its figures.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "bench/bounds.hpp"
#include "bench/comparison.hpp"
#include "bench/histogram.hpp"
#include "bench/plot.hpp"
#include "bench/print.hpp"
#include "bench/report.hpp"
#include "bench/suite.hpp"
#include "support/required.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::nanoseconds;

TEST(histogram, its_percentiles_are_within_three_percent) {
    std::mt19937_64 random{testing::seed()};
    std::lognormal_distribution<double> took{12, 3};
    histogram counted;
    std::vector<double> all;
    for (int each = 0; each < 20'000; ++each) {
        all.push_back(std::floor(took(random)));
        counted.add(nanoseconds{static_cast<std::int64_t>(all.back())});
    }
    std::sort(all.begin(), all.end());
    for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
        const auto at = static_cast<std::size_t>(std::ceil(share * 20'000)) - 1;
        const auto shown = static_cast<double>(counted.at(share).count());
        EXPECT_NEAR(shown, all[at], all[at] * 0.032 + 1) << share;
    }
    EXPECT_EQ(counted.max().count(), static_cast<std::int64_t>(all.back()));
    EXPECT_EQ(counted.at(1), counted.max());
    EXPECT_EQ(counted.count(), 20'000U);
}

TEST(histogram, has_room_for_what_takes_years_or_no_time) {
    histogram counted;
    counted.add(nanoseconds{-5});
    counted.add(nanoseconds::max());
    EXPECT_EQ(counted.at(0.5).count(), 0);
    EXPECT_EQ(counted.at(1), nanoseconds::max());
    EXPECT_EQ(histogram{}.at(0.5).count(), 0);
}

TEST(histogram, goes_to_another_process_as_a_word) {
    histogram counted;
    for (const int each : {7, 7, 4'000, 1'000'000'007}) counted.add(nanoseconds{each});
    const histogram arrived = histogram::unpacked(counted.packed());
    EXPECT_EQ(arrived.packed(), counted.packed());
    EXPECT_EQ(arrived.count(), 4U);
    EXPECT_EQ(arrived.max(), counted.max());
    EXPECT_THROW(histogram::unpacked("pears"), std::runtime_error);
}

TEST(histogram, sums_are_those_of_both) {
    histogram one;
    histogram other;
    one.add(nanoseconds{10});
    other.add(nanoseconds{20});
    other.add(nanoseconds{30});
    one.add(other);
    EXPECT_EQ(one.count(), 3U);
    EXPECT_EQ(one.at(0.5).count(), 20);
    EXPECT_EQ(one.max().count(), 30);
}

TEST(spread, is_the_median_with_the_least_and_the_most) {
    const spread odd = spread_of({3, 1, 2});
    EXPECT_EQ(odd.median, 2);
    EXPECT_EQ(odd.min, 1);
    EXPECT_EQ(odd.max, 3);
    EXPECT_EQ(spread_of({4, 1, 2, 3}).median, 2.5);
    EXPECT_EQ(spread_of({}).median, 0);
}

report one_report(const char* what, int workers, double p50, double first_p50 = 0) {
    report made{{what, workers}, 5};
    side_report ours{.name = "leasehold", .rate = {1e6 / p50, 1, 2}, .took = {p50, p50, p50, p50}};
    ours.took.first_p50 = first_p50;
    ours.each["client_cpu_us"] = 20;
    side_report floor = ours;
    floor.name = "by hand";
    floor.ratio = {0.5, 0.25, 0.75};
    floor.latency_ratio = 2;
    made.sides = {ours, floor};
    return made;
}

TEST(report, is_read_from_the_json_it_wrote) {
    report made = one_report("versioned-claim", 4, 300);
    made.what.batch = 10;
    made.what.are_processes = true;
    EXPECT_EQ(json_of(report_in(json_of(made))), json_of(made));
}

TEST(report, says_each_side_and_each_ratio) {
    const std::string text = text_of(one_report("pair", 16, 500, 300));
    EXPECT_EQ(text.find("pair, 16 threads: pairs\n"), 0U) << text;
    EXPECT_NE(text.find("  leasehold has 0.50 of the rate of by hand (0.25 to 0.75)"), text.npos);
    EXPECT_NE(text.find("acquire 300 us"), text.npos) << text;
}

// Round trip, commit, acquire; which of them bounds it.
struct known {
    double round_trip, commit, acquire;
    acquire_parts::part bound;
};

TEST(bounds, are_the_largest_part) {
    using part = acquire_parts::part;
    for (const known& each :
         {known{50, 500, 600, part::flush},
          known{800, 900, 1000, part::round_trip},
          known{50, 100, 1000, part::server},
          known{1, 2, 12, part::client}}) {
        const std::vector<report> all{
            one_report("round-trip", 1, each.round_trip),
            one_report("commit", 1, each.commit),
            one_report("pair", 1, 2 * each.acquire, each.acquire)};
        const auto parts = parts_of(all);
        ASSERT_TRUE(parts);
        EXPECT_EQ(parts->largest(), each.bound) << each.acquire;
        EXPECT_DOUBLE_EQ(
            parts->round_trip + parts->flush + parts->client + parts->server, each.acquire
        );
    }
}

TEST(bounds, are_not_guessed_at) {
    EXPECT_FALSE(parts_of({}));
    EXPECT_FALSE(parts_of({one_report("pair", 1, 100, 50)}));
    EXPECT_TRUE(sentences_on({one_report("pair", 1, 100, 50)}, {}).empty());
    const auto many = sentences_on({one_report("pair", 1, 100), one_report("pair", 8, 25)}, {4});
    ASSERT_EQ(many.size(), 1U);
    EXPECT_EQ(many[0].find("8 threads do 4.00 times what 1 did."), 0U) << many[0];
}

TEST(plot, has_a_point_for_each_size) {
    std::vector<report> all;
    for (const int each : {1, 4, 16}) all.push_back(one_report("pair", each, 100));
    all.push_back(one_report("commit", 1, 100));  // of one size: no line
    const auto plots = plots_of(all);
    ASSERT_EQ(plots.size(), 2U);
    ASSERT_EQ(plots[0].lines.size(), 2U);
    EXPECT_EQ(plots[0].lines[0].points.size(), 3U);
    const std::string svg = svg_of(plots);
    EXPECT_EQ(svg.find("<svg "), 0U);
    EXPECT_EQ(svg.find("nan"), svg.npos);
    std::size_t circles = 0;
    for (auto at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1)) ++circles;
    EXPECT_EQ(circles, 12U);
}

TEST(suite, measures_what_was_asked_for) {
    suite_settings asked;
    asked.only = {"hop", "pair"};
    asked.threads = {1, 2, 3};
    asked.waiters = {5};
    const auto all = workloads_of(asked);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].what, "pair");
    EXPECT_EQ(all[2].workers, 3);
    EXPECT_EQ(all[3].shape(), "5 waiting threads");
    EXPECT_EQ(workloads_of({}).size(), 3U + 2 + 2 + 3 + 3 + 3 + 1 + 1);
}

// Works until it is told to fail.
class clockwork final : public side {
public:
    explicit clockwork(int fails_at) : fails_at_(fails_at) {}
    std::unique_ptr<worker> make_worker(int) override { return std::make_unique<one>(*this); }

private:
    class one final : public worker {
    public:
        explicit one(clockwork& of) : of_(of) {}
        sample operate(const std::stop_token&) override {
            if (++count_ == of_.fails_at_) throw std::runtime_error("the spring is broken");
            return {.items = 3, .took = std::chrono::microseconds{7}};
        }

    private:
        clockwork& of_;
        int count_ = 0;
    };
    const int fails_at_;
};

TEST(crew, counts_what_its_workers_do) {
    thread_crew crew{std::make_unique<clockwork>(0), 3};
    const auto start = clock::now() + std::chrono::milliseconds{5};
    const tally done = crew.run({start, std::chrono::milliseconds{20}}, {}, {});
    EXPECT_GT(done.operations, 0);
    EXPECT_EQ(done.items, 3 * done.operations);
    EXPECT_EQ(done.whole.count(), static_cast<std::uint64_t>(done.operations));
    EXPECT_EQ(done.whole.max(), nanoseconds{7'000});
    EXPECT_GT(done.client_cpu.count(), 0);
}

// A machine that is so busy that no worker begins before the end, or so slow a database.
TEST(crew, has_one_operation_at_least) {
    thread_crew crew{std::make_unique<clockwork>(0), 3};
    const tally late = crew.run({clock::now() - std::chrono::seconds{1}, nanoseconds{1}}, {}, {});
    EXPECT_GE(late.operations, 1);
    EXPECT_GE(late.span, std::chrono::seconds{1});
    round_time alone{clock::now() - std::chrono::seconds{1}, nanoseconds{1}};
    alone.goes_on = false;
    EXPECT_EQ(crew.run(alone, {}, {}).operations, 0);
}

TEST(crew, ends_a_round_with_the_first_failure) {
    thread_crew crew{std::make_unique<clockwork>(2), 3};
    EXPECT_THROW(crew.run({clock::now(), std::chrono::hours{1}}, {}, {}), std::runtime_error);
}

TEST(crew, ends_a_round_when_it_is_stopped) {
    thread_crew crew{std::make_unique<clockwork>(0), 2};
    std::stop_source stop;
    const round_marks marks{[&] { stop.request_stop(); }, {}};
    const tally done = crew.run({clock::now(), std::chrono::hours{1}}, marks, stop.get_token());
    EXPECT_LT(done.span, std::chrono::minutes{1});
}

}  // namespace
}  // namespace leasehold::bench
