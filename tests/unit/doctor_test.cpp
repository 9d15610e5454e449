// The doctor's findings about the answers of a database, and about its refusals to answer.
#include "leasehold/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "admin/health_store.hpp"
#include "admin/history_store.hpp"
#include "core/handle_maker.hpp"
#include "database/database.hpp"
#include "leasehold/error.hpp"
#include "runs/run_store.hpp"
#include "session/session_store.hpp"
#include "support/findings.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

// The answers of a server.
struct answers {
    microseconds clock_ahead{0};
    std::vector<std::string> known_shape{"lock column a b"}, shape{"lock column a b"};
    std::vector<std::string> missing_rights{};
    session_counts sessions{};
    std::vector<long_hold> long_holds{}, long_shares{};
    std::int64_t dead_holds = 0, dead_shares = 0;
    std::vector<waiting_queue> waiting_queues{};
    std::optional<microseconds> usual_time{};
    std::vector<discarded_jobs> discarded{};
    grant_history_status history{};
    std::string words{};            // of the server, where it refuses
    std::optional<errc> refused{};  // of questions about sessions
    bool ends_there = false;        // and nothing is answered from then on
};

class told_health_store final : public health_store {
public:
    explicit told_health_store(const answers& what) : what_(what) {}

    std::vector<finding> examine_server(connection&, const diagnosis_settings&) override {
        return {{severity::good, "of_the_server", "", "", ""}};
    }
    std::vector<finding> examine_tables(connection&, const diagnosis_settings&) override {
        return {};
    }
    microseconds clock(connection&) override {
        if (is_gone_) throw error(errc::connection_lost, "gone");
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<microseconds>(now) + what_.clock_ahead;
    }
    std::vector<std::string> shape(connection&) override { return what_.shape; }
    std::vector<std::string> known_shape() const override { return what_.known_shape; }
    std::vector<std::string> missing_rights(connection&) override { return what_.missing_rights; }
    session_counts count_sessions(connection&) override {
        is_gone_ = what_.ends_there;
        if (what_.refused) throw error(*what_.refused, "refused", {.server_message = what_.words});
        return what_.sessions;
    }
    std::vector<long_hold> long_holds(connection&, microseconds, int) override {
        return what_.long_holds;
    }
    std::vector<long_hold> long_shares(connection&, microseconds, int) override {
        return what_.long_shares;
    }
    std::int64_t dead_holds(connection&, microseconds) override { return what_.dead_holds; }
    std::int64_t dead_shares(connection&, microseconds) override { return what_.dead_shares; }
    std::optional<session_info> session_of(connection&, const session_id&) override {
        return std::nullopt;
    }
    std::optional<microseconds> closed_for(connection&, const key&) override {
        return std::nullopt;
    }
    std::vector<waiting_queue> waiting_queues(connection&, microseconds) override {
        return what_.waiting_queues;
    }
    std::optional<microseconds> usual_time(connection&, const std::string&) override {
        return what_.usual_time;
    }
    std::vector<discarded_jobs> discarded(connection&, microseconds, std::int64_t most) override {
        auto all = what_.discarded;
        for (discarded_jobs& each : all) each.count = std::min(each.count, most);
        return all;
    }
    std::int64_t discarded_of(
        connection&, const std::string& queue, microseconds, std::int64_t most
    ) override {
        for (const discarded_jobs& each : what_.discarded) {
            if (each.queue == queue) return std::min(each.count, most);
        }
        return 0;
    }

private:
    const answers& what_;
    bool is_gone_ = false;
};

// The model has no history of its own.
class told_history_store final : public history_store {
public:
    explicit told_history_store(const answers& what) : what_(what) {}

    void start(connection&, std::optional<microseconds>) override {}
    void stop(connection&) override {}
    grant_history_status status(connection&) override { return what_.history; }
    std::vector<grant_record> list(connection&, const grant_filter&) override { return {}; }
    std::vector<grant_record> list_of(connection&, const key&, const grant_filter&) override {
        return {};
    }

private:
    const answers& what_;
};

class doctor_test : public ::testing::Test {
protected:
    std::vector<finding> examined() {
        auto stores = model_.stores();
        stores->put<health_store>(std::make_unique<told_health_store>(says_));
        stores->put<history_store>(std::make_unique<told_history_store>(says_));
        const database db = handle_maker::share<database>(
            [this](const connect_limits&) {
                if (is_down_) throw error(errc::connection_failed, "nobody is there");
                return model_.connect();
            },
            std::move(stores),
            database_settings{}
        );
        return diagnose(db);
    }
    std::optional<finding> found(std::string_view name) { return find(examined(), name); }

    memory_database model_;
    answers says_;
    bool is_down_ = false;
};

TEST_F(doctor_test, all_is_well_with_the_model) {
    EXPECT_EQ(worst_of(examined()), severity::good);
    EXPECT_TRUE(found("of_the_server"));
}

TEST_F(doctor_test, a_server_that_is_not_there_is_all_that_is_said) {
    is_down_ = true;
    const auto all = examined();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].name, "unreachable");
    EXPECT_EQ(all[0].severity, severity::error);
    EXPECT_NE(all[0].what.find("nobody is there"), std::string::npos);
}

TEST_F(doctor_test, a_clock_that_differs_is_told_in_its_direction) {
    says_.clock_ahead = 90500ms;
    auto clock = found("clock");
    ASSERT_TRUE(clock);
    EXPECT_NE(clock->what.find("90 s ahead of"), std::string::npos) << clock->what;
    says_.clock_ahead = -90s;
    clock = found("clock");
    ASSERT_TRUE(clock);
    EXPECT_NE(clock->what.find("behind"), std::string::npos) << clock->what;
    says_.clock_ahead = 500ms;
    EXPECT_FALSE(found("clock"));
}

TEST_F(doctor_test, what_is_missing_is_an_error_and_what_is_more_a_warning) {
    says_.shape = {"lock column c d", "others column a b"};
    const auto all = examined();
    std::vector<severity> drifts;
    for (const finding& each : all) {
        if (each.name == "schema_drift") drifts.push_back(each.severity);
    }
    EXPECT_EQ(drifts, (std::vector{severity::error, severity::warning}));
}

TEST_F(doctor_test, of_many_differences_some_are_told_and_the_rest_counted) {
    says_.shape.clear();
    says_.known_shape.clear();
    for (int at = 10; at < 60; ++at) says_.known_shape.push_back("lock " + std::to_string(at));
    const auto all = examined();
    const auto count = std::count_if(all.begin(), all.end(), [](const finding& each) {
        return each.name == "schema_drift";
    });
    EXPECT_EQ(count, 20);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const finding& each) {
        return each.what.find("and 30 more") != std::string::npos;
    }));
}

TEST_F(doctor_test, rights_that_are_missing_are_named) {
    says_.missing_rights = {"INSERT ON lock", "DELETE ON job"};
    const auto rights = found("missing_rights");
    ASSERT_TRUE(rights);
    EXPECT_EQ(rights->what, "this user lacks INSERT ON lock; DELETE ON job");
}

TEST_F(doctor_test, one_late_session_is_its_own_fault_and_many_are_the_servers) {
    says_.sessions = {.live = 100, .overdue = 1, .heartbeats_per_second = 10, .example = "a@h:1"};
    auto stuck = found("stuck_session");
    ASSERT_TRUE(stuck);
    EXPECT_NE(stuck->remedy.find("that process"), std::string::npos) << stuck->remedy;
    says_.sessions.overdue = 30;
    stuck = found("stuck_session");
    ASSERT_TRUE(stuck);
    EXPECT_NE(stuck->remedy.find("server cannot keep up"), std::string::npos) << stuck->remedy;
    EXPECT_NE(found("heartbeats")->what.find("10 heartbeats"), std::string::npos);
}

TEST_F(doctor_test, what_is_refused_is_named_and_the_rest_is_looked_at) {
    says_.refused = errc::database_error;
    says_.long_holds = {{"k", "a@h:1", 49h, 7}};
    const auto refused = found("not_looked_at");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->severity, severity::warning);
    EXPECT_TRUE(refused->what.starts_with("sessions could not be looked at")) << refused->what;
    const auto held = found("held_long");
    ASSERT_TRUE(held);
    EXPECT_EQ(held->what, "'k' is held for 2 days by a@h:1; 7 keys are held for that long");
}

TEST_F(doctor_test, of_keys_held_for_long_the_oldest_are_named_whoever_may_share_them) {
    for (int at = 0; at < 5; ++at) {
        const std::string number = std::to_string(at);
        says_.long_holds.push_back({"alone" + number, "a@h:1", std::chrono::hours{100 - at}, 5});
        says_.long_shares.push_back({"shared" + number, "b@h:1", std::chrono::hours{200 - at}, 9});
    }
    says_.long_shares.resize(3);
    std::vector<std::string> told;
    for (const finding& each : examined()) {
        if (each.name == "held_long") told.push_back(each.what);
    }
    ASSERT_EQ(told.size(), 5u);
    EXPECT_TRUE(told[0].starts_with("'shared0' is held for")) << told[0];
    EXPECT_TRUE(told[3].starts_with("'alone0' is held for")) << told[3];
    EXPECT_TRUE(told[4].ends_with("; 14 keys are held for that long")) << told[4];
}

TEST_F(doctor_test, a_history_without_its_triggers_is_told) {
    says_.history.is_on = true;
    EXPECT_FALSE(found("history_not_written"));
    says_.history.is_broken = true;
    EXPECT_TRUE(found("history_not_written"));
}

TEST_F(doctor_test, holds_of_the_dead_are_counted_together) {
    says_.dead_holds = 3;
    says_.dead_shares = 4;
    const auto behind = found("clean_up_behind");
    ASSERT_TRUE(behind);
    EXPECT_TRUE(behind->what.starts_with("7 holds are there of sessions")) << behind->what;
}

TEST_F(doctor_test, of_many_queues_some_are_named_and_the_rest_counted) {
    for (int at = 100; at < 160; ++at) {
        says_.waiting_queues.push_back({"q" + std::to_string(at), 11min, at % 2 == 0});
    }
    const auto all = examined();
    for (const char* name : {"paused_queue", "slow_queue"}) {
        std::vector<std::string> told;
        for (const finding& each : all) {
            if (each.name == name) told.push_back(each.what);
        }
        ASSERT_EQ(told.size(), 20u) << name;
        EXPECT_EQ(told.front().find("more queues"), std::string::npos) << told.front();
        EXPECT_NE(told.back().find("; and 10 more queues are like it"), std::string::npos)
            << told.back();
    }
    says_.waiting_queues.resize(1);
    EXPECT_EQ(found("paused_queue")->remedy, "leasehold queue resume 'q100'");
}

TEST_F(doctor_test, a_wait_is_unusual_by_what_the_queue_takes_otherwise) {
    says_.waiting_queues = {{"mail", 2min, false}};
    EXPECT_FALSE(found("slower_than_usual")) << "nothing is known of the queue";
    says_.usual_time = 12s;
    EXPECT_FALSE(found("slower_than_usual")) << "ten times as long";
    says_.usual_time = 11s;
    const auto unusual = found("slower_than_usual");
    ASSERT_TRUE(unusual);
    EXPECT_EQ(unusual->severity, severity::warning);
    EXPECT_NE(unusual->what.find("took 11 s in all"), std::string::npos) << unusual->what;
    says_.waiting_queues = {{"mail", 59s, false}};
    EXPECT_FALSE(found("slower_than_usual")) << "whoever waits for less than a minute";
    says_.waiting_queues = {{"mail", 11min, false}};
    EXPECT_FALSE(found("slower_than_usual"));
    EXPECT_TRUE(found("slow_queue"));
}

TEST_F(doctor_test, discarded_jobs_are_counted_up_to_a_thousand) {
    says_.discarded = {{"calls", 1}, {"mail", 300}, {"news", 1000}};
    std::vector<std::string> told;
    for (const finding& each : examined()) {
        if (each.name == "discarded_jobs") told.push_back(each.what);
    }
    ASSERT_EQ(told.size(), 3u);
    EXPECT_EQ(told[0], "1 job of queue 'calls' was given up within the last day");
    EXPECT_EQ(told[1], "300 jobs of queue 'mail' were given up within the last day");
    EXPECT_EQ(told[2], "1000 jobs or more of queue 'news' were given up within the last day");
}

// The doctor says what it does not look at, and bounds the number of tasks that it looks at.
TEST_F(doctor_test, of_more_tasks_than_a_thousand_the_rest_is_said_not_to_be_looked_at) {
    const auto name = [](int number) { return "task" + std::to_string(number); };
    const auto claim = [&](int number) {
        const auto stores = model_.stores();
        const auto on = model_.connect();
        const run_claim wanted{
            key{name(number)},
            {1},
            identity::random(),
            "a@h:1",
            schedule::instant{},
            0us,
            true,
            ""};
        ASSERT_TRUE(stores->get<run_store>().claim(*on, wanted));
    };
    for (int at = 1000; at < 2000; ++at) claim(at);
    EXPECT_FALSE(found("not_looked_at"));
    claim(2000);
    const auto rest = found("not_looked_at");
    ASSERT_TRUE(rest);
    EXPECT_NE(rest->what.find("behind 'task1999'"), std::string::npos) << rest->what;
    std::vector<std::string> told;
    for (const finding& each : examined()) {
        if (each.name == "abandoned_run") told.push_back(each.what);
    }
    ASSERT_EQ(told.size(), 20u);
    EXPECT_TRUE(told.back().ends_with("; and 980 more tasks are like it")) << told.back();
}

TEST_F(doctor_test, a_refusal_without_words_of_ours_has_those_of_the_server) {
    says_.refused = errc::database_error;
    says_.words = "Out of sort memory";
    EXPECT_EQ(
        found("not_looked_at")->what, "sessions could not be looked at: refused: Out of sort memory"
    );
    says_.refused = errc::permission_denied;
    EXPECT_EQ(found("not_looked_at")->what, "sessions could not be looked at: refused");
}

TEST_F(doctor_test, one_of_each_is_told_as_one) {
    says_.sessions = {.live = 1, .heartbeats_per_second = 1};
    EXPECT_EQ(found("heartbeats")->what, "1 live session sends some 1 heartbeat a second");
    says_.dead_holds = 1;
    EXPECT_TRUE(found("clean_up_behind")->what.starts_with("1 hold is there of sessions"));
}

TEST_F(doctor_test, a_server_that_stops_answering_is_asked_no_more) {
    says_.long_holds = {{"k", "a@h:1", 49h, 7}};
    says_.ends_there = true;
    for (const errc how : {errc::connection_lost, errc::connection_failed, errc::timed_out}) {
        says_.refused = how;
        const auto all = examined();
        const auto gone = find(all, "unreachable");
        ASSERT_TRUE(gone) << names_of(all);
        EXPECT_EQ(gone->severity, severity::error);
        EXPECT_NE(gone->what.find("sessions: refused"), std::string::npos) << gone->what;
        EXPECT_FALSE(gone->remedy.empty());
        EXPECT_FALSE(find(all, "held_long")) << names_of(all);
        EXPECT_FALSE(find(all, "not_looked_at")) << names_of(all);
        EXPECT_TRUE(find(all, "of_the_server")) << "what was found before is kept";
    }
}

TEST_F(doctor_test, one_question_that_is_not_answered_is_not_the_servers_end) {
    says_.refused = errc::timed_out;
    says_.long_holds = {{"k", "a@h:1", 49h, 7}};
    const auto all = examined();
    EXPECT_TRUE(find(all, "not_looked_at")) << names_of(all);
    EXPECT_TRUE(find(all, "held_long")) << names_of(all);
    EXPECT_FALSE(find(all, "unreachable")) << names_of(all);
}

TEST_F(doctor_test, a_user_who_may_not_ask_is_not_warned_of_it) {
    says_.refused = errc::permission_denied;
    const auto refused = found("not_looked_at");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->severity, severity::good);
}

}  // namespace
}  // namespace leasehold::testing
