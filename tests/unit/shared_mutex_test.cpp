// A writer that waits and says so, over a bad network.
#include "leasehold/shared_mutex.hpp"
#include "leasehold/versioned_claim.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class lost_announcement : public model_test, public ::testing::WithParamInterface<fault> {};

TEST_P(lost_announcement, is_made_again_and_leaves_nothing_behind) {
    session readers{sound(), calm("readers")}, writers{faulty(), eager("writers")};
    shared_mutex read{readers, name_}, write{writers, name_, {.min_poll = 1ms, .max_poll = 20ms}};
    auto reading = read.try_acquire_shared();
    ASSERT_TRUE(reading);
    plan_->fail_in_turn("announce", {GetParam()});
    std::stop_source cancel;
    thread writer{[&] { EXPECT_FALSE(is_granted(write.acquire(cancel.get_token()))); }};
    EXPECT_TRUE(plan_->wait_for_strikes(1, 20s));
    EXPECT_TRUE(eventually([&] { return !is_granted(read.try_acquire_shared()); }))
        << "a writer that starves";
    cancel.request_stop();
    writer.join();
    plan_->carry_out_the_late();
    EXPECT_TRUE(eventually([&] { return is_granted(read.try_acquire_shared()); }))
        << "a wish that nobody has";
    EXPECT_TRUE(reading->verify());
}

INSTANTIATE_TEST_SUITE_P(
    shared_mutex_test,
    lost_announcement,
    ::testing::ValuesIn(all_faults),
    [](const auto& each) { return name_of(each.param); }
);

}  // namespace
}  // namespace leasehold::testing
