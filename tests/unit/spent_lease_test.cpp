// A lease that was spent, in whatever way, answers each call as lease.hpp says, whatever its kind.
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/detach.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/pending_lease.hpp"
#include "leasehold/quorum_lock.hpp"
#include "leasehold/schedule.hpp"
#include "leasehold/semaphore.hpp"
#include "support/granted.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class spent_lease_test : public model_test {
protected:
    using act = std::function<void()>;

    template <class Held>
    void expect_nothing_of(Held& spent) {
        EXPECT_TRUE(spent.lost().stop_requested());
        EXPECT_FALSE(spent.held_locally());
        EXPECT_LT(spent.deadline() - local_clock::now(), 0s) << "no overflow";
        if constexpr (requires { spent.why_lost(); }) {
            EXPECT_EQ(spent.why_lost(), loss_reason::released);
        }
        if constexpr (requires { spent.revoke_requested(); }) {
            EXPECT_FALSE(spent.revoke_requested().stop_requested());
        }
        if constexpr (requires { spent.verify(); }) {
            EXPECT_FALSE(spent.verify());
        }
        if constexpr (requires { spent.held_count(); }) {
            EXPECT_EQ(spent.held_count(), 0U);
        }
        if constexpr (requires { spent.release(); }) {
            EXPECT_EQ(spent.release(), release_outcome::not_held);
        }
        if constexpr (requires { spent.resign(); }) {
            EXPECT_EQ(spent.resign(), release_outcome::not_held);
        }
        if constexpr (requires { spent.finish(); }) {
            EXPECT_EQ(spent.finish(), finish_outcome::not_held);
        }
    }
    template <class Held>
    void expect_refusal_by(Held& spent) {
        transaction tx = here_.begin();
        if constexpr (requires { spent.verify_in(tx); }) {
            expect_lost("verify_in", [&] { spent.verify_in(tx); });
        }
        if constexpr (requires { spent.finish_in(tx); }) {
            expect_lost("finish_in", [&] { spent.finish_in(tx); });
        }
        if constexpr (requires { spent.extend(1h); }) {
            expect_lost("extend", [&] { (void)spent.extend(1h); });
        }
        if constexpr (requires { spent.proclaim("me"); }) {
            expect_lost("proclaim", [&] { spent.proclaim("me"); });
        }
        if constexpr (requires { detach(std::move(spent)); }) {
            expect_lost("detach", [&] { (void)detach(std::move(spent)); });
            expect_lost("detach_for", [&] { (void)detach_for(std::move(spent), 1min); });
        }
    }
    // Spends one of `make` in each of these ways; and by a move, to which nothing of it is left.
    template <class Make>
    void expect_alike(const std::string& kind, Make make, const auto&... spend) {
        int way = 0;
        const auto judge = [&](auto& spent) {
            expect_nothing_of(spent);
            expect_refusal_by(spent);
        };
        const auto spend_by = [&](const auto& how) {
            SCOPED_TRACE(kind + ", spent in way " + std::to_string(++way));
            auto spent = make();
            how(spent);
            judge(spent);
        };
        (spend_by(spend), ...);
        SCOPED_TRACE(kind + ", moved from");
        auto spent = make();
        const auto kept = std::move(spent);
        judge(spent);
        if constexpr (requires { spent.lease(); }) {
            expect_lost("lease", [&] { (void)spent.lease(); });
        }
        EXPECT_TRUE(kept.held_locally());
    }
    static void expect_lost(const char* call, const act& run) {
        SCOPED_TRACE(call);
        const auto failure = thrown_by(run);
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::lease_lost) << failure->what();
    }

    database here_ = faulty();
    session mine_{here_, calm()};
};

constexpr auto detached = [](auto& held) { (void)detach(std::move(held)); };
constexpr auto detached_for = [](auto& held) { (void)detach_for(std::move(held), 1min); };
constexpr auto released = [](auto& held) { EXPECT_EQ(held.release(), release_outcome::released); };
// These take the lease away from the object that is built on it. The lease lives on or not.
constexpr auto lease_released = [](auto& held) { held.lease().release(); };
constexpr auto lease_taken = [](auto& held) { const lease taken = std::move(held.lease()); };
constexpr auto lease_detached = [](auto& held) { (void)detach(std::move(held.lease())); };

TEST_F(spent_lease_test, a_lease) {
    int number = 0;
    const auto make = [&] { return *mutex{mine_, key{"k" + std::to_string(++number)}}.acquire(); };
    const auto ended = [&](lease& held) {
        session other{here_, calm("other")};
        EXPECT_EQ(other.end_with(std::move(held)), release_outcome::released);
        EXPECT_EQ(
            session(here_, calm("third")).end_with(std::move(held)), release_outcome::not_held
        );
    };
    expect_alike("lease", make, released, detached, detached_for, ended);
    const auto with_term = [&] {
        return *mutex{mine_, key{"t" + std::to_string(++number)}, {.fixed_term = 1h}}.acquire();
    };
    expect_alike("lease with a term", with_term, released, detached);
}

TEST_F(spent_lease_test, the_permits_of_a_semaphore) {
    semaphore seats{mine_, name_, 4};
    const auto shrunk = [&](lease& held) {
        released(held);
        expect_lost("shrink_to", [&] { seats.shrink_to(held, 1); });
        const lease kept = std::move(held);
        expect_lost("shrink_to", [&] { seats.shrink_to(held, 1); });
    };
    expect_alike(
        "permits", [&] { return *seats.acquire(2); }, released, shrunk
    );
}

TEST_F(spent_lease_test, a_lease_on_several_keys) {
    const auto make = [&] { return *multi_lock{mine_, {key{"a"}, key{"b"}}}.acquire(); };
    expect_alike("multi_lease", make, released);
}

TEST_F(spent_lease_test, an_office) {
    int number = 0;
    const auto make = [&] {
        return *leader_election{mine_, key{"k" + std::to_string(++number)}}.campaign();
    };
    const auto resigned = [](leadership& held) { held.resign(); };
    expect_alike(
        "leadership",
        make,
        resigned,
        detached,
        detached_for,
        lease_released,
        lease_taken,
        lease_detached
    );
}

TEST_F(spent_lease_test, a_run) {
    int number = 0;
    const auto make = [&] {
        const key task{"k" + std::to_string(++number)};
        return *once{mine_, task, schedule::every(1h)}.start();
    };
    const auto finished = [](task_run& run) { EXPECT_EQ(run.finish(), finish_outcome::recorded); };
    expect_alike("task_run", make, finished, lease_released, lease_taken, lease_detached);
    task_run run = make();
    finished(run);
    session other{here_, calm("other")};
    EXPECT_EQ(run.finish_and_end(other), finish_outcome::not_held);
    EXPECT_FALSE(other.is_live()) << "it ends the session all the same";
}

TEST_F(spent_lease_test, a_lease_on_a_majority) {
    quorum servers{{sound()}};
    const auto make = [&] { return *quorum_lock{servers, name_}.acquire(); };
    expect_alike("quorum_lease", make, released);
}

TEST_F(spent_lease_test, a_lease_of_a_transaction) {
    mutex closing{mine_, name_};
    transaction tx = here_.begin();
    pending_lease pending = *closing.try_acquire_in(tx);
    tx.commit();
    const auto token = pending.token();
    const auto got = pending.confirm();
    ASSERT_TRUE(got);
    EXPECT_FALSE(is_granted(pending.confirm())) << "it was given out before";
    EXPECT_EQ(pending.token(), token);
    pending_lease taken = std::move(pending);
    EXPECT_FALSE(is_granted(pending.confirm()));
    expect_lost("token", [&] { (void)pending.token(); });
    expect_lost("owner", [&] { (void)pending.owner(); });
    expect_lost("key", [&] { (void)pending.key(); });
}

TEST_F(spent_lease_test, says_what_it_was_until_it_is_moved_from) {
    lease held = *mutex{mine_, name_}.acquire();
    const auto token = held.token();
    held.release();
    EXPECT_EQ(held.token(), token);
    EXPECT_EQ(held.key(), name_);
    const lease taken = std::move(held);
    expect_lost("token", [&] { (void)held.token(); });
    expect_lost("owner", [&] { (void)held.owner(); });
    multi_lease both = *multi_lock{mine_, {name_}}.acquire();
    both.release();
    EXPECT_EQ(both.keys().size(), 1U);
    const multi_lease rest = std::move(both);
    expect_lost("tokens", [&] { (void)both.tokens(); });
}

TEST_F(spent_lease_test, that_was_released_was_not_lost) {
    lease held = *mutex{mine_, name_}.acquire();
    EXPECT_EQ(held.why_lost(), loss_reason::none);
    held.release();
    EXPECT_EQ(held.why_lost(), loss_reason::released);
    EXPECT_EQ(events_->count(event_kind::lost), 0);
    const auto failure = thrown_by([&] { (void)held.extend(1h); });
    ASSERT_TRUE(failure);
    EXPECT_NE(std::string{failure->what()}.find("was released"), std::string::npos);
    EXPECT_EQ(std::string{failure->what()}.find("is lost"), std::string::npos);
}

}  // namespace
}  // namespace leasehold::testing
