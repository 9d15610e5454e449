// leasehold::barrier on the model, over a bad network.
#include "leasehold/barrier.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

using barrier_test = model_test;

// It has passed; the session clears away the rest.
TEST_F(barrier_test, who_has_passed_is_told_so_though_going_loses_its_answer) {
    session mine{faulty(), eager()};
    for (const fault each : all_faults) {
        SCOPED_TRACE(name_of(each));
        plan_->fail_in_turn("release_hold", {each});
        const auto phase = barrier{mine, name_, 1}.arrive_and_wait_for(20s);
        EXPECT_EQ(plan_->strikes(), 1);
        EXPECT_TRUE(phase);
        plan_->carry_out_the_late();
        EXPECT_TRUE(eventually([&] { return !describe(sound(), name_)->is_held; }));
    }
}

}  // namespace
}  // namespace leasehold::testing
