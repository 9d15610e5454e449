// Fixed terms: they outlive their session, nothing but their holder renews them, and what the
// holder believes is never longer than what the database knows.
#include "conformance/suite.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/stop.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

using term_suite = suite;

TEST_F(term_suite, a_fixed_term_outlives_its_session_and_ends_by_itself) {
    const key name = fresh("k");
    session other{second_, calm("other")};
    std::int64_t token = 0;
    {
        session one{first_, calm("one")};
        auto held = mutex{one, name, {.fixed_term = 10min}}.try_acquire();
        token = token_of(held);
        ASSERT_GT(token, 0);
        one.end();
        EXPECT_FALSE(is_granted(mutex(other, name).try_acquire()));
        EXPECT_TRUE(held->held_locally());
        current().age_lock(name, 11min);
    }
    auto next = mutex{other, name}.try_acquire();
    EXPECT_GT(token_of(next), token);
}

TEST_F(term_suite, a_fixed_term_is_not_renewed_by_anything) {
    session one{first_, calm("one")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{one, name, {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(held);
    current().age_lock(name, 9min);
    EXPECT_TRUE(held->verify());
    EXPECT_LE(describe(second_, name)->remaining, 1min);
    current().age_lock(name, 2min);
    EXPECT_FALSE(held->verify());
    auto next = mutex{other, name}.try_acquire();
    EXPECT_TRUE(next);
}

TEST_F(term_suite, its_holder_extends_it) {
    session one{first_, calm("one")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{one, name, {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(held);
    const auto token = held->token();
    const auto before = held->deadline();
    current().age_lock(name, 9min);
    EXPECT_TRUE(held->extend(1h));
    EXPECT_GT(held->deadline(), before + 45min);
    EXPECT_GT(describe(second_, name)->remaining, 59min);
    EXPECT_EQ(describe(second_, name)->token, token);
    current().age_lock(name, 50min);
    EXPECT_TRUE(held->verify());
    EXPECT_FALSE(is_granted(mutex{other, name}.try_acquire()));
    one.end();
    EXPECT_TRUE(held->extend(10min)) << "it outlives its session";
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE((mutex{other, name}.try_acquire()));
}

TEST_F(term_suite, may_be_made_shorter) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name, {.fixed_term = 1h}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->extend(1min));
    EXPECT_LE(held->deadline(), local_clock::now() + 1min);
    EXPECT_LE(describe(second_, name)->remaining, 1min);
    static_cast<void>(held->extend(1ms));  // it may be over before the answer comes
    EXPECT_TRUE(eventually([&] { return held->lost().stop_requested(); }));
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
    EXPECT_FALSE(held->extend(1h)) << "what is lost is not revived";
}

TEST_F(term_suite, one_that_ran_out_for_the_database_is_not_extended) {
    session one{first_, calm("one")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{one, name, {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(held);
    current().age_lock(name, 11min);
    EXPECT_FALSE(held->extend(1h));
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    auto next = mutex{other, name, {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(next) << "and the row has not been renewed";
    EXPECT_LE(describe(first_, name)->remaining, 10min);
}

TEST_F(term_suite, a_follower_s_term_is_not_extended_by_who_had_it_before) {
    session one{first_, calm("one")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{one, name, {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_TRUE(force_release(second_, name));
    auto next = mutex{other, name, {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(next);
    EXPECT_FALSE(held->extend(24h));
    EXPECT_LE(describe(first_, name)->remaining, 10min);
    EXPECT_TRUE(next->verify());
}

TEST_F(term_suite, all_levels_have_the_same_end) {
    session one{first_, calm("one")};
    mutex again{one, fresh("k"), {.recursive = true, .fixed_term = 10min}};
    auto outer = again.try_acquire();
    auto inner = again.try_acquire();
    ASSERT_TRUE(outer && inner);
    EXPECT_TRUE(inner->extend(1h));
    EXPECT_EQ(outer->deadline(), inner->deadline());
}

TEST_F(term_suite, what_has_none_is_not_extended) {
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    ASSERT_TRUE(held);
    for (const auto term : {1us * 0, std::chrono::microseconds{1h}}) {
        const auto failure = thrown_by([&] { EXPECT_FALSE(held->extend(term)); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
    EXPECT_TRUE(held->verify());
}

TEST_F(term_suite, whoever_only_holds_waits_until_it_is_lost) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name, {.fixed_term = 10min}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_FALSE(wait_until_lost(*held, local_clock::now() + 1ms));
    EXPECT_FALSE(wait_until_lost(*held, std::chrono::system_clock::now() - 1h));
    std::stop_source enough;
    enough.request_stop();
    EXPECT_FALSE(wait_until_lost(*held, local_clock::time_point::max(), enough.get_token()));
    static_cast<void>(held->extend(1ms));  // it may be over before the answer comes
    EXPECT_TRUE(wait_until_lost(*held, std::chrono::steady_clock::now() + 1min));
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
}

TEST_F(term_suite, the_term_of_several_keys_begins_anew) {
    session one{first_, calm("one")};
    multi_lock both{one, {key{fresh("a")}, key{fresh("b")}}, {.fixed_term = 1min}};
    auto held = both.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->extend(1h));
    EXPECT_GT(held->deadline(), local_clock::now() + 30min);
    for (const key& each : held->keys()) {
        EXPECT_GT(describe(second_, each)->remaining, 30min) << each.name();
    }
    ASSERT_TRUE(force_release(second_, held->keys().back()));
    EXPECT_FALSE(held->extend(1h));
    EXPECT_TRUE(wait_until_lost(*held, local_clock::now()));
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    auto alive = multi_lock{one, {key{fresh("a")}, key{fresh("b")}}}.try_acquire();
    EXPECT_EQ(thrown_by([&] { (void)alive->extend(1h); }).value().code(), errc::invalid_argument);
}

}  // namespace
}  // namespace leasehold::testing
