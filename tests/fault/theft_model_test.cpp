// The remains of the three thefts in the model: each request happens at one instant, except that a
// taker waits for a proof. It must look again when that has ended (theft a); there is no snapshot
// (b) and nothing in flight (c).
#include <future>

#include "conformance/suite.hpp"

namespace leasehold::testing {
namespace {

using theft_model = suite;

TEST_F(theft_model, theft_a_a_session_that_renewed_during_the_wait_is_not_robbed) {
    session holder{first_, calm("holder")};
    session rival{current().open({}), calm("rival")};
    const key name = fresh("k");
    auto held = mutex{holder, name}.try_acquire();
    expire(holder);
    transaction proof = first_.begin();
    held->verify_in(proof);
    auto answer = std::async(std::launch::async, [&] {
        auto got = mutex{rival, name}.try_acquire();
        return static_cast<bool>(got);
    });
    EXPECT_FALSE(eventually([&] { return answer.wait_for(0s) == std::future_status::ready; }, 100ms)
    ) << "it did not wait for the proof";
    current().age_session(holder.id(), -2h);
    proof.commit();
    EXPECT_FALSE(answer.get());
    EXPECT_TRUE(held->verify());
}

}  // namespace
}  // namespace leasehold::testing
