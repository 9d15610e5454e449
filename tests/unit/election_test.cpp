// The events of a program's terms, and their order, when a term ends as soon as it has begun.
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "leasehold/leader_election.hpp"
#include "support/granted.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

// Runs something within the grant, before the campaign learns of it.
class at_the_grant final : public observer {
public:
    void on_event(const event& what) noexcept override {
        if (what.kind == event_kind::lost) has_lost = true;
        if (what.kind == event_kind::granted && run) run();
    }
    std::function<void()> run;
    std::atomic<bool> has_lost = false;
};

class election_test : public model_test {
protected:
    election_test() {
        settings_.on_elected = [this](fencing_token term) {
            told_.push_back("elected " + std::to_string(term.number));
            if (while_told_) while_told_();
            is_leader_ = true;
        };
        settings_.on_lost = [this](fencing_token term, loss_reason why) {
            told_.push_back("lost " + std::to_string(term.number) + " " + name_of(why));
            is_leader_ = false;
        };
    }

    // Deposes the leader, and waits until its heartbeat has found out.
    void depose() {
        EXPECT_TRUE(force_release(sound(), name_));
        EXPECT_TRUE(eventually([&] { return observer_->has_lost.load(); }));
    }
    database observed() {
        database_settings settings;
        settings.observer = observer_;
        return model_.open(settings);
    }

    const std::shared_ptr<at_the_grant> observer_ = std::make_shared<at_the_grant>();
    election_settings settings_;
    std::function<void()> while_told_;
    std::vector<std::string> told_;
    bool is_leader_ = false;
};

const std::vector<std::string> elected_then_lost{"elected 1", "lost 1 taken_over"};

TEST_F(election_test, a_term_lost_before_its_beginning_was_told_is_told_in_order) {
    session mine{observed(), eager()};
    observer_->run = [this] { depose(); };
    const auto leading = leader_election{mine, name_, settings_}.try_campaign();
    ASSERT_TRUE(leading);
    EXPECT_EQ(leading->why_lost(), loss_reason::taken_over);
    EXPECT_EQ(told_, elected_then_lost);
    EXPECT_FALSE(is_leader_);
}

TEST_F(election_test, a_term_lost_while_its_beginning_is_told_ends_behind_that) {
    session mine{observed(), eager()};
    while_told_ = [this] { depose(); };
    const auto leading = leader_election{mine, name_, settings_}.try_campaign();
    ASSERT_TRUE(leading);
    EXPECT_EQ(told_, elected_then_lost);
    EXPECT_FALSE(is_leader_);
}

TEST_F(election_test, a_term_whose_beginning_could_not_be_told_ends_and_is_told_so) {
    session mine{observed(), calm()};
    while_told_ = [] { throw std::runtime_error("no"); };
    leader_election election{mine, name_, settings_};
    EXPECT_THROW((void)election.try_campaign(), std::runtime_error);
    EXPECT_EQ(told_, (std::vector<std::string>{"elected 1", "lost 1 released"}));
    EXPECT_FALSE(model_.is_held(name_));
}

TEST_F(election_test, each_term_is_told_once) {
    session mine{observed(), calm()};
    leader_election election{mine, name_, settings_};
    for (int term = 0; term < 2; ++term) {
        auto leading = election.try_campaign();
        ASSERT_TRUE(leading);
        EXPECT_TRUE(is_leader_);
        leading->resign();
        EXPECT_FALSE(is_leader_);
    }
    const std::vector<std::string> all{
        "elected 1", "lost 1 released", "elected 2", "lost 2 released"};
    EXPECT_EQ(told_, all);
}

TEST_F(election_test, a_lease_that_was_moved_out_of_its_leadership_still_tells_its_end) {
    session mine{observed(), eager()};
    auto leading = leader_election{mine, name_, settings_}.campaign();
    auto office = std::make_optional<lease>(std::move(leading->lease()));
    drop(leading);
    EXPECT_EQ(told_, std::vector<std::string>{"elected 1"});
    office.reset();
    EXPECT_EQ(told_, (std::vector<std::string>{"elected 1", "lost 1 released"}));
}

}  // namespace
}  // namespace leasehold::testing
