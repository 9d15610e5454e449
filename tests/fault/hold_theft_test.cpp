// Keys that several can hold, in the races that a snapshot loses: a grant in flight that a taker
// waited for, and a renewal in flight across the holder's expiry.
#include "fault/suite.hpp"
#include "leasehold/shared_mutex.hpp"

namespace leasehold::testing {
namespace {

class hold_theft : public server_suite {
protected:
    // A key whose header is there and that nobody holds.
    key known_shared() {
        session once{first_, calm("once")};
        const key name = fresh("shared");
        auto got = shared_mutex{once, name}.try_acquire();
        EXPECT_TRUE(got && got->release() == release_outcome::released);
        return name;
    }

    session holder_{first_, calm("holder")};
    session rival_{second_, calm("rival")};
};

// MariaDB opens the snapshot of an UPDATE before it waits for the row, if it plans a nested SELECT
// that names a row by a constant: a statement that counted the holders in it would not count this
// one.
TEST_F(hold_theft, a_grant_that_the_taker_waited_for_is_seen_by_it) {
    const key name = known_shared();
    transaction grant = first_.begin();
    server_->grant_hold(transaction_ref{grant}.inside(), name, holder_.id());
    auto answer = std::async(std::launch::async, [&] {
        auto got = shared_mutex{rival_, name}.try_acquire();
        return static_cast<bool>(got);
    });
    const auto id = id_of(grant);
    EXPECT_TRUE(eventually([&] { return is_waiting_behind(id); })) << "it did not race";
    grant.commit();
    EXPECT_FALSE(answer.get()) << "two writers hold the key";
    EXPECT_EQ(describe(first_, name)->session, holder_.id());
    EXPECT_EQ(describe(first_, name)->holders, 1);
}

// No plain read sees a renewal whose commit takes until after the expiry.
TEST_F(hold_theft, a_reader_whose_renewal_is_being_committed_is_not_taken_for_dead) {
    const key name = known_shared();
    auto reading = shared_mutex{holder_, name}.try_acquire_shared();
    ASSERT_TRUE(reading);
    const auto first_expiry = leave(holder_, 4000ms);
    transaction renewal = first_.begin();
    ASSERT_EQ(renew_in(renewal, holder_), heartbeat_status::renewed) << "too slow";
    ASSERT_TRUE(passed(first_expiry));
    EXPECT_FALSE(is_live_in_database(holder_.id())) << "a plain read sees the renewal";
    auto writing = shared_mutex{rival_, name}.try_acquire();
    EXPECT_FALSE(writing);
    renewal.commit();
    EXPECT_TRUE(reading->verify());
}

}  // namespace
}  // namespace leasehold::testing
