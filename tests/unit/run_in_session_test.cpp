// run_in_session(): what becomes of a body whose session is lost, and of one that fails.
#include <atomic>
#include <string>
#include <vector>

#include "support/granted.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class run_in_session_test : public model_test {
protected:
    void lose(const session& which) {
        model_.age_session(which.id(), 1h);
        EXPECT_TRUE(stopped(which.lost(), 20s));
    }
};

TEST_F(run_in_session_test, a_body_is_called_again_in_a_new_session_where_the_first_was_lost) {
    std::vector<session_id> in;
    run_in_session(sound(), eager(), [&](session& mine) {
        in.push_back(mine.id());
        mutex closing{mine, name_};
        auto held = closing.try_acquire();
        ASSERT_TRUE(held);
        if (in.size() == 1) lose(mine);
        (void)closing.try_acquire();  // in a session that is lost it throws
    });
    ASSERT_EQ(in.size(), 2U);
    EXPECT_NE(in[0], in[1]);
    EXPECT_FALSE(model_.is_held(name_)) << "the session has ended with the call";
}

TEST_F(run_in_session_test, an_error_of_a_live_session_comes_out) {
    int calls = 0;
    const auto failure = thrown_by([&] {
        run_in_session(sound(), calm(), [&](session&) {
            ++calls;
            throw error(errc::transient, "deadlock");
        });
    });
    EXPECT_EQ(failure.value().code(), errc::transient);
    EXPECT_EQ(calls, 1);
}

TEST_F(run_in_session_test, a_body_that_returns_is_called_again_where_its_session_was_lost) {
    int calls = 0;
    run_in_session(sound(), eager(), [&](session& mine) {
        if (++calls == 1) lose(mine);
        if (calls == 2) mine.end();
    });
    EXPECT_EQ(calls, 2) << "a body that ends its session has done its work";
}

TEST_F(run_in_session_test, a_database_that_is_away_is_waited_for) {
    std::atomic<int> tries = 0;
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        return statement == "connect" && ++tries <= 3 ? std::optional{fault::refused}
                                                      : std::nullopt;
    });
    int calls = 0;
    run_in_session(faulty(), calm(), [&](session&) { ++calls; });
    plan_->heal();
    EXPECT_EQ(calls, 1);
    EXPECT_GT(tries, 3);
}

TEST_F(run_in_session_test, whoever_stops_it_waits_for_no_database) {
    std::stop_source stop;
    plan_->fail_when([&](std::string_view, int) {
        stop.request_stop();
        return fault::refused;
    });
    run_in_session(
        faulty(), calm(), [](session&) { ADD_FAILURE(); }, stop.get_token()
    );
    plan_->heal();
}

}  // namespace
}  // namespace leasehold::testing
