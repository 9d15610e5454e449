// The heartbeat alone, step by step: without a session, without its thread, and at times that the
// test chooses. session_test.cpp tests whole sessions.
#include "session/heartbeat.hpp"

#include <string>
#include <vector>

#include "support/told_events.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using step_state = heartbeat::step_state;

// ttl 12 s, margin 2 s, a heartbeat every 4 s; the row was made when the fixture was.
class heartbeat_test : public model_test {
protected:
    heartbeat_test() {
        const auto on = model_.connect();
        model_.stores()->get<session_store>().start(*on, {state_.id, "alone", state_.settings.ttl});
        const thread_guard guard{state_.mutex};
        state_.grants.begin(local_clock::now(), local_clock::now());
        listen();
    }
    static session_settings usual() {
        session_settings settings;
        settings.ttl = 12s;
        settings.reap_every = std::nullopt;
        return settings;
    }
    database heard() {
        database_settings settings;
        settings.observer = told_;
        settings.statement_timeout = 300ms;
        return model_.open(settings, plan_->wrapper());
    }
    // From here on the statements are written down, and those that `how` chooses fail.
    void listen(std::function<std::optional<fault>(std::string_view)> how = {}) {
        plan_->fail_when([this, how](std::string_view statement, int) {
            asked_.emplace_back(statement);
            return how ? how(statement) : std::nullopt;
        });
    }
    void fail_heartbeats(fault how) {
        listen([how](std::string_view statement) {
            return statement == "heartbeat" ? std::optional{how} : std::nullopt;
        });
    }
    int asked(std::string_view statement) const {
        return static_cast<int>(std::count(asked_.begin(), asked_.end(), statement));
    }
    // The next step, after so long.
    std::optional<heartbeat::nap> step_after(std::chrono::nanoseconds pause) {
        test_time::advance(pause);
        asked_.clear();
        return heart_.step();
    }
    lease_machine lease() const { return state_.lease(); }
    std::shared_ptr<grant> granted() {
        const auto on = model_.connect();
        const owner_id owner = owner_id::random();
        const auto made = model_.stores()->get<hold_store>().try_acquire(
            *on, {name_, owner, state_.id, "alone", {}}
        );
        const auto held = std::make_shared<grant>(hold{name_, owner, made.token}, std::nullopt);
        const thread_guard guard{state_.mutex};
        state_.grants.add(held);
        return held;
    }
    void put_in_doubt(const grant& what, std::chrono::seconds until) {
        const auto now = local_clock::now();
        {
            const thread_guard guard{state_.mutex};
            state_.in_doubt.add(
                {name_, what.what().owner, now + until, lock_kind::mutex, {}, {}, now}
            );
        }
        hurry();
    }
    void hurry() {
        const thread_guard guard{state_.mutex};
        state_.grants.lease().hurry(local_clock::now());
    }

    std::shared_ptr<told_events> told_ = std::make_shared<told_events>();
    std::vector<std::string> asked_;
    session_state state_{heard(), usual(), session_id::random()};
    int goodbyes_ = 0;
    heartbeat heart_{state_, [this] { ++goodbyes_; }};
};

TEST_F(heartbeat_test, nothing_is_sent_before_a_heartbeat_is_due) {
    const auto due = lease().next_heartbeat();
    const auto next = step_after(3s);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->until, due);
    EXPECT_EQ(asked_, std::vector<std::string>{});
    EXPECT_EQ(heart_.await_step(local_clock::now()), step_state::none);
}

TEST_F(heartbeat_test, an_answer_moves_the_deadline_to_a_ttl_after_it_was_asked_for) {
    step_after(4s);
    EXPECT_GE(asked("heartbeat"), 1);
    const auto before = lease();
    test_time::advance(4s);
    const auto sent_from = local_clock::now();
    step_after(0s);
    const auto sent_until = local_clock::now();
    EXPECT_EQ(asked("heartbeat"), 1) << "there is no news any more";
    EXPECT_GE(lease().deadline(), sent_from + 10s);
    EXPECT_LE(lease().deadline(), sent_until + 10s);
    EXPECT_EQ(lease().next_heartbeat(), lease().deadline() - 6s);
    EXPECT_GT(lease().deadline(), before.deadline() + 3s);
}

// The database may have begun the new ttl as soon as the request was sent.
TEST_F(heartbeat_test, the_time_that_an_answer_takes_does_not_lengthen_the_session) {
    step_after(4s);
    listen([](std::string_view) -> std::optional<fault> {
        test_time::advance(3s);
        return std::nullopt;
    });
    test_time::advance(4s);
    const auto sent_from = local_clock::now();
    step_after(0s);
    ASSERT_EQ(asked("heartbeat"), 1);
    EXPECT_LT(lease().deadline(), sent_from + 12s);
    listen([](std::string_view statement) -> std::optional<fault> {
        if (statement == "standings") test_time::advance(3s);
        return std::nullopt;
    });
    const auto held = granted();
    ASSERT_TRUE(request_revoke(sound(), name_));
    test_time::advance(2s);
    const auto asked_from = local_clock::now();
    step_after(0s);
    ASSERT_EQ(asked("heartbeat"), 2);
    EXPECT_GE(lease().deadline(), asked_from + 13s) << "the second request is the one that renews";
}

// The database may have renewed the row, but nobody here knows.
TEST_F(heartbeat_test, a_lost_answer_leaves_the_deadline_and_another_try_comes_soon) {
    const auto deadline = lease().deadline();
    fail_heartbeats(fault::lost_after_it);
    test_time::advance(4s);
    const auto failed_from = local_clock::now();
    step_after(0s);
    EXPECT_EQ(lease().deadline(), deadline);
    EXPECT_LE(lease().next_heartbeat(), local_clock::now() + 500ms);
    EXPECT_GE(lease().next_heartbeat(), failed_from + 500ms) << "a server that is down is spared";
    EXPECT_EQ(told_->count(event_kind::late_heartbeat), 1);
    listen();
    step_after(500ms);
    EXPECT_GE(asked("heartbeat"), 1);
    EXPECT_GT(lease().deadline(), deadline);
}

TEST_F(heartbeat_test, a_connection_on_which_a_heartbeat_failed_is_not_used_again) {
    step_after(4s);
    fail_heartbeats(fault::refused);
    step_after(4s);
    EXPECT_EQ(asked("connect"), 0);
    listen();
    step_after(1s);
    EXPECT_EQ(asked("connect"), 1);
}

TEST_F(heartbeat_test, a_new_connection_asks_which_grants_are_held) {
    const auto held = granted();
    step_after(4s);
    EXPECT_EQ(asked("standings"), 1) << "the first has no news to compare with";
    step_after(4s);
    EXPECT_EQ(asked("standings"), 0);
    fail_heartbeats(fault::lost_before_sending);
    step_after(4s);
    EXPECT_EQ(asked("standings"), 0);
    listen();
    step_after(1s);
    EXPECT_EQ(asked("standings"), 1);
    EXPECT_TRUE(held->is_live());
}

// Only a release got no answer. The new connection may lead to another server all the same.
TEST_F(heartbeat_test, a_connection_that_something_else_has_lost_asks_which_grants_are_held) {
    const auto held = granted();
    step_after(4s);
    put_in_doubt(*held, 60s);
    listen([](std::string_view statement) {
        return statement == "heartbeat" ? std::nullopt : std::optional{fault::lost_on_the_way};
    });
    step_after(0s);
    ASSERT_EQ(asked("heartbeat"), 1);
    ASSERT_GE(asked_.size(), 2U);
    listen();
    step_after(4s);
    EXPECT_EQ(asked("connect"), 1);
    EXPECT_EQ(asked("standings"), 1);
}

TEST_F(heartbeat_test, a_grant_that_was_taken_away_is_told_and_the_session_goes_on) {
    const auto held = granted();
    step_after(4s);
    ASSERT_TRUE(force_release(sound(), name_));
    auto seen = step_state::none;
    const std::stop_callback callback{
        held->lost(), [&] { seen = heart_.await_step(local_clock::now()); }};
    const auto deadline = lease().deadline();
    step_after(4s);
    EXPECT_EQ(held->reason(), loss_reason::taken_over);
    EXPECT_EQ(seen, step_state::has_its_answers) << "an end() need not wait for a callback";
    EXPECT_TRUE(lease().is_live());
    EXPECT_GE(lease().deadline(), deadline + 4s) << "it was renewed";
    EXPECT_TRUE(state_.watched().empty());
    step_after(4s);
    EXPECT_EQ(asked("heartbeat"), 1) << "this news is known";
}

TEST_F(heartbeat_test, a_holder_that_is_asked_to_let_go_is_told_once) {
    const auto held = granted();
    ASSERT_TRUE(request_revoke(sound(), name_));
    step_after(4s);
    EXPECT_TRUE(held->revoke_requested().stop_requested());
    ASSERT_TRUE(request_revoke(sound(), name_));
    step_after(4s);
    EXPECT_EQ(told_->count(event_kind::revoke_requested), 1);
    EXPECT_TRUE(held->is_live());
}

TEST_F(heartbeat_test, a_step_awaits_answers_while_its_request_is_under_way) {
    auto seen = step_state::none;
    listen([&](std::string_view) {
        seen = heart_.await_step(local_clock::now());
        return std::nullopt;
    });
    step_after(4s);
    EXPECT_EQ(seen, step_state::awaits_answers);
    EXPECT_EQ(heart_.await_step(local_clock::now()), step_state::none);
}

TEST_F(heartbeat_test, a_row_that_ended_is_never_renewed_and_one_goodbye_is_said) {
    const auto held = granted();
    model_.age_session(state_.id, 12s);
    step_after(4s);
    EXPECT_EQ(held->reason(), loss_reason::ended_by_server);
    EXPECT_EQ(goodbyes_, 0) << "the holders are told first";
    for (int again = 0; again < 3; ++again) {
        step_after(4s);
        EXPECT_EQ(asked("heartbeat"), 0);
        EXPECT_EQ(goodbyes_, 1);
    }
}

TEST_F(heartbeat_test, no_goodbye_is_said_while_another_thread_tells_of_the_loss) {
    const auto held = granted();
    std::optional<grant_watch::losses> found;
    {
        const thread_guard guard{state_.mutex};
        found = state_.grants.take_losses(local_clock::now() + 10s, false);
    }
    ASSERT_TRUE(found);
    step_after(1s);
    EXPECT_EQ(goodbyes_, 0);
    {
        const thread_guard guard{state_.mutex};
        state_.grants.note_told(*found);
    }
    step_after(1s);
    EXPECT_EQ(goodbyes_, 1);
}

TEST_F(
    heartbeat_test, an_outage_longer_than_the_ttl_ends_in_a_loss_and_requests_are_settled_after
) {
    const auto held = granted();
    put_in_doubt(*held, 60s);
    listen([](std::string_view statement) -> std::optional<fault> {
        if (statement == "connect") return std::nullopt;
        return fault::lost_before_sending;
    });
    int tries = 0;
    for (int steps = 0; lease().is_live(); ++steps) {
        ASSERT_LT(steps, 100);
        step_after(500ms);
        tries += asked_.empty() ? 0 : 1;
    }
    EXPECT_GE(tries, 10);
    EXPECT_EQ(held->reason(), loss_reason::expired);
    EXPECT_TRUE(model_.is_held(name_)) << "the margin is left";
    listen();
    step_after(1s);
    EXPECT_EQ(goodbyes_, 1);
    EXPECT_FALSE(model_.is_held(name_)) << "the owner in doubt is released";
    step_after(500ms);
    EXPECT_EQ(asked_, std::vector<std::string>{}) << "once in a second";
    step_after(500ms);
    EXPECT_NE(asked_, std::vector<std::string>{}) << "it may still arrive";
    EXPECT_EQ(asked("heartbeat"), 0);
}

TEST_F(heartbeat_test, a_request_in_doubt_does_not_wait_for_the_next_interval) {
    const auto held = granted();
    step_after(4s);
    put_in_doubt(*held, 60s);
    step_after(1s);
    EXPECT_FALSE(model_.is_held(name_));
    EXPECT_LE(lease().next_heartbeat(), local_clock::now() + 1s) << "it may still arrive";
    EXPECT_EQ(told_->count(event_kind::doubt_settled), 0);
}

// As after a fail-over: the database has the hold again, whose release it had answered.
TEST_F(heartbeat_test, a_new_connection_looks_for_releases_that_the_database_has_forgotten) {
    step_after(4s);
    const auto held = granted();
    {
        const thread_guard guard{state_.mutex};
        state_.grants.remove(*held);
    }
    state_.gave_up(name_, held->what().owner, lock_kind::mutex);
    hurry();
    step_after(100ms);
    ASSERT_TRUE(model_.is_held(name_)) << "nothing tells of a fail-over";
    fail_heartbeats(fault::lost_before_sending);
    hurry();
    step_after(100ms);
    listen();
    step_after(500ms);
    EXPECT_FALSE(model_.is_held(name_));
}

TEST_F(heartbeat_test, nothing_is_sent_for_a_session_that_its_owner_has_ended) {
    {
        const thread_guard guard{state_.mutex};
        state_.has_ended = true;
        state_.grants.end(local_clock::now());
    }
    EXPECT_FALSE(step_after(4s));
    EXPECT_EQ(asked_, std::vector<std::string>{});
    EXPECT_EQ(goodbyes_, 0);
}

TEST_F(heartbeat_test, after_its_owner_begins_to_end_it_nothing_follows_the_heartbeat) {
    const auto held = granted();
    step_after(4s);
    put_in_doubt(*held, 60s);
    listen([this](std::string_view statement) -> std::optional<fault> {
        if (statement == "heartbeat") state_.ending.request_stop();
        return std::nullopt;
    });
    step_after(0s);
    EXPECT_EQ(asked_, std::vector<std::string>{"heartbeat"});
    EXPECT_TRUE(model_.is_held(name_)) << "an end() takes the requests in doubt itself";
}

}  // namespace
}  // namespace leasehold::testing
