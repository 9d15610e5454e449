// Each check, first on a history in which it holds and then on the same history with one thing
// wrong: a checker that finds nothing there would pass any run.
#include "soak/checkers.hpp"
#include "soak/expect_findings.hpp"
#include "support/folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

// A history as processes would have written it, with times in milliseconds.
class story {
public:
    // Granted 5 ms after it was asked for. Returns the id of the grant.
    std::int64_t grant(
        int process, std::int64_t at, std::int64_t token, std::int64_t until, int key = 0
    ) {
        const auto id = ++last_id_;
        add({at, process, id, operation::acquire, phase::invoke, key});
        add({at + 5, process, id, operation::acquire, phase::ok, key, 0, token, 0, until});
        return id;
    }
    std::int64_t effect(
        operation what,
        int process,
        std::int64_t grant,
        std::int64_t at,
        std::int64_t token,
        phase outcome,
        int key = 0
    ) {
        const auto id = ++last_id_;
        add({at, process, id, what, phase::invoke, key, grant, token});
        if (outcome != phase::unknown) add({at + 5, process, id, what, outcome, key});
        return id;
    }
    void force(std::int64_t at, std::int64_t token, phase outcome, int key = 0) {
        const auto id = ++last_id_;
        add({at, 9, id, operation::force, phase::invoke, key});
        if (outcome != phase::unknown) {
            add({at + 5, 9, id, operation::force, outcome, key, 0, token});
        }
    }
    void entry(
        int process, std::int64_t id, std::int64_t token, std::int64_t position, int key = 0
    ) {
        add({last_ms_, process, id, operation::entry, phase::note, key, 0, token, position});
    }
    void ends(std::int64_t appends, std::int64_t counter, std::int64_t value, int key = 0) {
        add({last_ms_, 0, 0, operation::length, phase::note, key, 0, 0, appends});
        add({last_ms_, 0, 0, operation::counter, phase::note, key, 0, 0, counter});
        add({last_ms_, 0, 0, operation::value, phase::note, key, 0, 0, value});
    }
    void add(record what) {
        last_ms_ = std::max(last_ms_, what.at_ns);
        what.at_ns *= ms;
        what.until_ns *= ms;
        records_.push_back(what);
    }
    facts told() const {
        auto sorted = records_;
        std::stable_sort(sorted.begin(), sorted.end(), [](const auto& one, const auto& other) {
            return one.at_ns < other.at_ns;
        });
        return gather(sorted);
    }

private:
    std::vector<record> records_;
    std::int64_t last_id_ = 0;
    std::int64_t last_ms_ = 0;
};

// ------------------------------------------------------------------------------------------- C1

TEST(belief_check, one_holder_after_another_is_fine) {
    story told;
    const auto first = told.grant(1, 0, 1, 900);
    told.effect(operation::release, 1, first, 100, 1, phase::ok);
    told.grant(2, 96, 2, 1000);  // asked before the release, granted at 101
    EXPECT_TRUE(holds(check_beliefs(told.told())));
}

TEST(belief_check, reports_two_believers) {
    story told;
    told.grant(1, 0, 1, 900);
    told.grant(2, 500, 2, 1400);
    EXPECT_TRUE(reports(check_beliefs(told.told()), "both believed to hold it for 395 ms"));
}

TEST(belief_check, reports_a_believer_hidden_behind_a_longer_one) {
    story told;
    told.grant(1, 0, 1, 900);
    const auto second = told.grant(2, 100, 2, 1000);
    told.effect(operation::release, 2, second, 150, 2, phase::ok);
    told.grant(3, 200, 3, 1100);
    EXPECT_EQ(check_beliefs(told.told()).size(), 2U);
}

TEST(belief_check, belief_ends_at_the_deadline) {
    story told;
    const auto paused = told.grant(1, 0, 1, 900);
    told.grant(2, 901, 2, 1800);
    told.effect(operation::release, 1, paused, 2500, 1, phase::fail);
    EXPECT_TRUE(holds(check_beliefs(told.told())));
}

TEST(belief_check, a_renewal_that_the_holder_saw_extends_belief) {
    story told;
    const auto first = told.grant(1, 0, 1, 900);
    told.add({800, 1, 77, operation::append, phase::invoke, 0, first, 1, 0, 1600});
    told.grant(2, 1000, 2, 1900);
    EXPECT_TRUE(reports(check_beliefs(told.told()), "both believed"));
}

TEST(belief_check, belief_ends_when_the_loss_is_known) {
    story told;
    const auto first = told.grant(1, 0, 1, 900);
    told.add({300, 1, 77, operation::belief, phase::fail, 0, first, 1});
    told.grant(2, 301, 2, 1900);
    EXPECT_TRUE(holds(check_beliefs(told.told())));
}

TEST(belief_check, freeing_by_force_ends_belief_from_the_moment_it_was_sent) {
    story told;
    told.grant(1, 0, 1, 900);
    told.force(100, 1, phase::ok);
    told.grant(2, 103, 2, 1000);
    EXPECT_TRUE(holds(check_beliefs(told.told())));
}

TEST(belief_check, a_grant_may_be_freed_by_force_before_its_holder_hears_of_it) {
    story told;
    told.add({0, 1, 70, operation::acquire, phase::invoke, 0});
    told.force(10, 1, phase::ok);
    told.grant(2, 16, 2, 1000);
    told.add({25, 1, 70, operation::acquire, phase::ok, 0, 0, 1, 0, 900});
    EXPECT_TRUE(holds(check_beliefs(told.told())));
}

TEST(belief_check, freeing_by_force_without_an_answer_may_have_met_anybody) {
    story told;
    told.grant(1, 0, 1, 900);
    told.force(100, 0, phase::unknown);
    told.grant(2, 103, 2, 1000);
    EXPECT_TRUE(holds(check_beliefs(told.told())));
    told.grant(3, 20'000, 3, 21'000);
    told.grant(4, 20'100, 4, 21'000);
    EXPECT_TRUE(reports(check_beliefs(told.told()), "both believed"));
}

TEST(belief_check, freeing_nobody_by_force_excuses_nothing) {
    story told;
    told.grant(1, 0, 1, 900);
    told.force(100, 0, phase::fail);
    told.grant(2, 103, 2, 1000);
    EXPECT_TRUE(reports(check_beliefs(told.told()), "both believed"));
}

TEST(belief_check, freeing_an_earlier_holder_by_force_excuses_nothing) {
    story told;
    told.force(10, 1, phase::ok);
    told.grant(1, 100, 2, 900);
    told.grant(2, 200, 3, 1000);
    EXPECT_TRUE(reports(check_beliefs(told.told()), "both believed"));
}

TEST(belief_check, reports_a_run_in_which_nobody_believed_anything) {
    story told;
    told.grant(1, 0, 1, 0);
    EXPECT_TRUE(reports(check_beliefs(told.told()), "void: nobody ever believed"));
}

TEST(belief_check, keys_do_not_exclude_each_other) {
    story told;
    told.grant(1, 0, 1, 900, 0);
    told.grant(2, 100, 1, 900, 1);
    EXPECT_TRUE(holds(check_beliefs(told.told())));
}

// ------------------------------------------------------------------------------------------- C2

TEST(token_check, growing_tokens_are_fine_also_where_requests_overlap) {
    story told;
    told.grant(1, 0, 1, 900);
    told.grant(2, 20, 3, 900);  // granted at 25, with the later token
    told.grant(3, 22, 2, 900);  // asked at 22, before that was answered
    EXPECT_TRUE(holds(check_tokens(told.told())));
}

TEST(token_check, reports_a_repeated_token) {
    story told;
    told.grant(1, 0, 4, 900);
    told.grant(2, 3, 4, 900);  // concurrent, so that order does not give it away
    EXPECT_TRUE(reports(check_tokens(told.told()), "the same token"));
}

TEST(token_check, reports_a_token_that_goes_back_in_time) {
    story told;
    told.grant(1, 0, 5, 900);
    told.grant(2, 6, 4, 900);
    EXPECT_TRUE(reports(check_tokens(told.told()), "asked for after token 5 had been granted"));
}

TEST(token_check, the_same_token_on_another_key_is_fine) {
    story told;
    told.grant(1, 0, 1, 900, 0);
    told.grant(2, 10, 1, 900, 1);
    EXPECT_TRUE(holds(check_tokens(told.told())));
}

TEST(token_check, reports_a_release_by_a_predecessor) {
    story told;
    const auto paused = told.grant(1, 0, 1, 900);
    told.grant(2, 1000, 2, 1900);
    story refused = told;
    told.effect(operation::release, 1, paused, 1100, 1, phase::ok);
    refused.effect(operation::release, 1, paused, 1100, 1, phase::fail);
    EXPECT_TRUE(reports(check_tokens(told.told()), "released with success after token 2"));
    EXPECT_TRUE(holds(check_tokens(refused.told())));
}

// ------------------------------------------------------------------------------------------- C3

// Two holders, of which the first appends twice and the second once.
struct appended : story {
    appended() {
        first = grant(1, 0, 1, 900);
        one = effect(operation::append, 1, first, 10, 1, phase::ok);
        two = effect(operation::append, 1, first, 20, 1, phase::ok);
        second = grant(2, 100, 2, 1000);
        three = effect(operation::append, 2, second, 110, 2, phase::ok);
    }
    std::int64_t first, second, one, two, three;
};

struct effects_check : ::testing::Test, appended {
    findings found() const { return check_effects(told()); }
};

TEST_F(effects_check, everything_once_and_in_order_is_fine) {
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(2, three, 2, 3);
    ends(3, 3, 0);
    EXPECT_TRUE(holds(found()));
}

TEST_F(effects_check, reports_a_lost_append) {
    entry(1, one, 1, 1);
    entry(2, three, 2, 2);
    ends(2, 2, 0);
    EXPECT_TRUE(reports(found(), "an acknowledged append is missing"));
}

TEST_F(effects_check, reports_everything_lost) {
    ends(0, 0, 0);
    EXPECT_EQ(found().size(), 3U) << texts(found());
}

TEST_F(effects_check, reports_an_append_that_is_there_twice) {
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(1, two, 1, 3);
    entry(2, three, 2, 4);
    ends(4, 4, 0);
    EXPECT_TRUE(reports(found(), "is there twice"));
}

TEST_F(effects_check, reports_an_order_that_is_not_that_of_tokens) {
    entry(1, one, 1, 1);
    entry(2, three, 2, 2);
    entry(1, two, 1, 3);
    ends(3, 3, 0);
    EXPECT_TRUE(reports(found(), "with token 1 follows token 2"));
}

TEST_F(effects_check, reports_a_stale_append_though_it_came_before_its_successors) {
    const auto late = effect(operation::append, 1, first, 107, 1, phase::ok);
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(1, late, 1, 3);
    entry(2, three, 2, 4);
    ends(4, 4, 0);
    EXPECT_TRUE(reports(found(), "was accepted, begun after token 2 had taken its place"));
}

TEST_F(effects_check, reports_an_append_accepted_after_a_freeing_by_force) {
    force(200, 2, phase::ok);
    const auto late = effect(operation::append, 2, second, 210, 2, phase::ok);
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(2, three, 2, 3);
    entry(2, late, 2, 4);
    ends(4, 4, 0);
    EXPECT_TRUE(reports(found(), "had taken its place"));
}

TEST_F(effects_check, reports_what_was_refused_and_is_there) {
    const auto refused = effect(operation::append, 2, second, 120, 2, phase::fail);
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(2, three, 2, 3);
    entry(2, refused, 2, 4);
    ends(4, 4, 0);
    EXPECT_TRUE(reports(found(), "was refused, and is there"));
}

TEST_F(effects_check, what_is_unknown_may_be_there_or_not) {
    const auto there = effect(operation::append, 2, second, 120, 2, phase::unknown);
    effect(operation::append, 2, second, 130, 2, phase::unknown);
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(2, three, 2, 3);
    entry(2, there, 2, 4);
    ends(4, 4, 0);
    EXPECT_TRUE(holds(found()));
}

TEST_F(effects_check, reports_what_is_unknown_and_there_twice) {
    const auto there = effect(operation::append, 2, second, 120, 2, phase::unknown);
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(2, three, 2, 3);
    entry(2, there, 2, 4);
    entry(2, there, 2, 5);
    ends(5, 5, 0);
    EXPECT_TRUE(reports(found(), "is there twice"));
}

TEST_F(effects_check, reports_what_nobody_appended) {
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(2, three, 2, 3);
    entry(3, 12345, 3, 4);
    ends(4, 4, 0);
    EXPECT_TRUE(reports(found(), "nobody appended it"));
}

TEST_F(effects_check, reports_an_update_lost_under_proof) {
    entry(1, one, 1, 1);
    entry(1, two, 1, 2);
    entry(2, three, 2, 3);
    ends(3, 2, 0);
    EXPECT_TRUE(reports(found(), "the counter written under proof is 2, and 3 appends are there"));
}

// ------------------------------------------------------------------------------------------- C4

// The first holder pauses, its successor writes, and the first writes back what it had read.
struct control_check : ::testing::Test, story {
    control_check() {
        const auto paused = grant(1, 0, 1, 900);
        const auto heir = grant(2, 1000, 2, 1900);
        effect(operation::control, 2, heir, 1100, 2, phase::ok);
        effect(operation::control, 1, paused, 2000, 1, phase::ok);
        add({2100, 1, 99, operation::append, phase::invoke, 0, paused, 1});
    }
    void refuse() {
        add({2105, 1, 99, operation::append, phase::fail, 0, 0, 0, 0, 0, "refused locally"});
    }
};

TEST_F(control_check, measures_what_a_stale_holder_overwrote) {
    ends(0, 0, 1);
    const auto loss = measure_control(told());
    EXPECT_EQ(loss.acknowledged, 2);
    EXPECT_EQ(loss.lost, 1);
    EXPECT_EQ(loss.overwritten_by_a_stale_holder, 1);
    refuse();
    EXPECT_TRUE(holds(check_control(told())));
}

TEST_F(control_check, reports_a_run_that_lost_nothing) {
    ends(0, 0, 2);
    EXPECT_TRUE(reports(check_control(told()), "void: none of 2 writes without proof was lost"));
}

TEST_F(control_check, a_loss_after_a_freeing_by_force_does_not_count_as_a_pause) {
    force(950, 1, phase::ok);
    ends(0, 0, 1);
    EXPECT_TRUE(reports(check_control(told()), "void: no paused holder"));
}

TEST_F(control_check, reports_a_run_in_which_no_proof_was_refused) {
    ends(0, 0, 1);
    EXPECT_TRUE(reports(check_control(told()), "void: no stale holder's proof was refused"));
}

TEST_F(control_check, a_run_that_lost_nothing_is_void_and_one_with_a_violation_is_not) {
    ends(0, 0, 2);
    findings found = check_control(told());
    EXPECT_TRUE(is_void(found)) << texts(found);
    found.push_back({"C3", "key 0: an acknowledged append is missing"});
    EXPECT_FALSE(is_void(found));
    EXPECT_FALSE(is_void({{"C3", "key 0: process 1 #2 voided: nothing"}}));
    EXPECT_FALSE(is_void({})) << "nothing was found";
}

// ------------------------------------------------------------------------------------------- C7

TEST(liveness_check, reports_a_key_nobody_got_after_the_last_fault) {
    story told;
    told.add({100, 0, 0, operation::drain, phase::note});
    told.grant(1, 200, 1, 900, 0);
    told.grant(1, 50, 1, 900, 1);  // before it
    told.effect(operation::acquire, 2, 0, 150, 0, phase::fail, 2);
    told.grant(1, 2000, 1, 2900, 2);  // too late for the one that asked first
    told.grant(1, 2000, 1, 2900, 3);  // nobody asked before
    for (const int key : {0, 1, 2, 3}) told.ends(0, 0, 0, key);
    const auto found = check_liveness(told.told(), 1s);
    EXPECT_EQ(found.size(), 2U) << texts(found);
    EXPECT_TRUE(reports(found, "key 1: not granted"));
    EXPECT_TRUE(reports(found, "key 2: not granted"));
}

// ------------------------------------------------------------------------------------ the record

TEST(history, a_line_says_all_of_a_record) {
    const record what{17, 3, 5, operation::append, phase::fail, 2, 4, 11, 13, 19, "said: \"no\"\n"};
    EXPECT_EQ(from_line(to_line(what)), what);
    EXPECT_EQ(to_line(what).find('\n'), std::string::npos);
}

TEST(history, a_line_cut_off_by_a_kill_is_left_out) {
    const testing::folder made;
    const std::string& folder = made.path();
    {
        history_writer writer{folder, 4};
        record what;
        what.id = writer.next_id();
        what.what = operation::acquire;
        writer.write(what);
        what.when = phase::ok;
        writer.write(what);
    }
    std::ofstream{folder + "/process-4.jsonl", std::ios::app} << R"({"t":99,"pro)";
    const auto read = read_history(folder);
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].process, 4);
    EXPECT_EQ(read[0].when, phase::invoke);
    EXPECT_LE(read[0].at_ns, read[1].at_ns);
}

}  // namespace
}  // namespace leasehold::soak
