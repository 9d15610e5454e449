// leasehold::quorum_lock: a majority of independent databases. Here: five sets of tables, some of
// them behind a gate that can be shut.
#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/suite.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/quorum_lock.hpp"
#include "support/faulty_connection.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class quorum_suite : public suite {
protected:
    struct server {
        std::string prefix;
        std::shared_ptr<gate> way = std::make_shared<gate>();
    };

    quorum_suite() {
        for (int each = 0; each < 3; ++each) add_server();
    }
    ~quorum_suite() override {
        if (current().name == "memory") return;
        for (const server& each : servers_) migrate_down(plain(each), 0);
    }

    void add_server() {
        servers_.push_back({"q" + identity::random().text().substr(0, 8) + "_"});
        if (current().name != "memory") migrate(plain(servers_.back()));
    }
    database plain(const server& to) { return current().open_with_prefix(to.prefix, nullptr); }
    database gated(const server& to) {
        return current().open_with_prefix(to.prefix, [way = to.way](connector inside) -> connector {
            return [way, inside = std::move(inside)](std::chrono::milliseconds timeout) {
                way->pass();
                return std::make_unique<gated_connection>(inside(timeout), way);
            };
        });
    }
    std::vector<database> plain_ones() {
        std::vector<database> all;
        for (const server& each : servers_) all.push_back(plain(each));
        return all;
    }
    std::vector<database> gated_ones() {
        std::vector<database> all;
        for (const server& each : servers_) all.push_back(gated(each));
        return all;
    }
    static quorum_settings patient(const char* name) {
        quorum_settings settings;
        settings.session = calm(name);
        settings.server_timeout = 20s;  // loaded machines are no failed servers
        return settings;
    }
    bool is_held(const server& at, const key& name) {
        const auto seen = describe(plain(at), name);
        return seen && seen->is_held;
    }

    std::vector<server> servers_;
    const key name_{"k"};
};

TEST_F(quorum_suite, all_servers_grant_and_all_are_released) {
    quorum here{plain_ones(), patient("here")}, there{plain_ones(), patient("there")};
    EXPECT_EQ(here.size(), 3U);
    EXPECT_EQ(here.needed(), 2U);
    auto held = quorum_lock{here, name_}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held.servers().granted, 3U);
    EXPECT_EQ(held->held_count(), 3U);
    for (const auto& token : held->tokens()) EXPECT_GT(token.value().number, 0);
    EXPECT_GT(held->deadline(), local_clock::now() + 30min);
    EXPECT_TRUE(held->verify());
    auto refused = quorum_lock{there, name_}.try_acquire();
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.servers().busy, 3U);
    const auto past = std::chrono::system_clock::now() - 1h;
    EXPECT_FALSE(is_granted(quorum_lock{there, name_}.acquire_until(past)));
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE(held->lost().stop_requested());
    EXPECT_EQ(held->why_lost(), loss_reason::released);
    EXPECT_EQ(held->release(), release_outcome::not_held);
    for (const server& each : servers_) EXPECT_FALSE(is_held(each, name_));
    auto next = quorum_lock{there, name_}.try_acquire();
    ASSERT_TRUE(next);
    for (std::size_t at = 0; at < 3; ++at) EXPECT_GT(next->tokens()[at], held->tokens()[at]);
}

TEST_F(quorum_suite, where_all_are_needed_one_that_is_busy_or_down_is_too_many) {
    quorum_settings all = patient("all");
    all.needs_all = true;
    quorum here{gated_ones(), all};
    EXPECT_EQ(here.needed(), 3U);
    quorum_lock lock{here, name_};
    {
        auto held = lock.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_TRUE(held->verify());
        EXPECT_TRUE(force_release(plain(servers_[1]), name_));
        EXPECT_FALSE(held->verify());
        EXPECT_TRUE(held->lost().stop_requested()) << "two of three are not enough";
        EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
        EXPECT_FALSE(held->held_locally());
    }
    session other{plain(servers_[2]), calm("other")};
    {
        auto busy = mutex{other, name_}.try_acquire();
        auto refused = lock.try_acquire();
        EXPECT_FALSE(refused);
        EXPECT_EQ(refused.servers().granted, 2U);
    }
    for (const server& each : servers_) EXPECT_FALSE(is_held(each, name_)) << "given back";
    servers_[0].way->close();
    auto refused = lock.try_acquire();
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.servers().failed, 1U);
    servers_[0].way->open();
    EXPECT_TRUE(lock.acquire_for(40s));
}

TEST_F(quorum_suite, a_minority_is_given_back_when_the_try_is_refused) {
    quorum here{plain_ones(), patient("here")};
    session one{plain(servers_[0]), calm("one")}, two{plain(servers_[1]), calm("two")};
    auto a = mutex{one, name_}.try_acquire();
    auto b = mutex{two, name_}.try_acquire();
    auto refused = quorum_lock{here, name_}.try_acquire();
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.servers().granted, 1U);
    EXPECT_EQ(refused.servers().busy, 2U);
    EXPECT_FALSE(is_held(servers_[2], name_));
    b->release();
    auto held = quorum_lock{here, name_}.acquire_for(20s);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->tokens()[0], std::nullopt);
}

TEST_F(quorum_suite, with_a_minority_down_it_works_and_with_a_majority_down_it_refuses) {
    add_server();
    add_server();
    quorum here{gated_ones(), patient("here")};
    quorum_lock lock{here, name_};
    servers_[0].way->close();
    servers_[3].way->close();
    {
        auto held = lock.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_EQ(held.servers().granted, 3U);
        EXPECT_EQ(held.servers().failed, 2U);
        EXPECT_EQ(held.servers().problems.size(), 2U);
        EXPECT_TRUE(held->verify());
    }
    servers_[4].way->close();
    auto refused = lock.try_acquire();
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.servers().granted, 2U);
    EXPECT_EQ(refused.servers().failed, 3U);
    for (const std::size_t each : {1U, 2U}) EXPECT_FALSE(is_held(servers_[each], name_));
    for (const server& each : servers_) each.way->open();
    EXPECT_TRUE(lock.acquire_for(20s));
}

TEST_F(quorum_suite, a_minority_may_be_down_from_the_start_and_come_later) {
    servers_[1].way->close();
    quorum here{gated_ones(), patient("here")};
    quorum_lock lock{here, name_};
    {
        auto held = lock.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_EQ(held->tokens()[1], std::nullopt);
    }
    servers_[1].way->open();
    EXPECT_TRUE(eventually([&] {
        auto held = lock.try_acquire();
        return held && held.servers().granted == 3;
    }));
}

// A server that comes back with its data keeps its word.
TEST_F(quorum_suite, a_server_that_was_away_still_knows_whom_it_granted) {
    quorum here{gated_ones(), patient("here")};
    auto held = quorum_lock{here, name_}.try_acquire();
    ASSERT_TRUE(held);
    // Another candidate finds the first server away, and the third just back.
    servers_[0].way->close();
    servers_[2].way->close();
    quorum there{gated_ones(), patient("there")};
    servers_[2].way->open();
    auto refused = quorum_lock{there, name_}.try_acquire();
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.servers().busy, 2U);
    servers_[0].way->open();
    EXPECT_TRUE(held->verify());
}

TEST_F(quorum_suite, the_lease_is_lost_with_its_majority_and_not_before) {
    quorum here{plain_ones(), patient("here")};
    auto held = quorum_lock{here, name_}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_TRUE(force_release(plain(servers_[0]), name_));
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(held->held_count(), 2U);
    EXPECT_FALSE(held->lost().stop_requested());
    EXPECT_TRUE(force_release(plain(servers_[1]), name_));
    EXPECT_FALSE(held->verify());
    EXPECT_TRUE(held->lost().stop_requested());
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    EXPECT_FALSE(held->held_locally());
    EXPECT_EQ(held->release(), release_outcome::not_held);
    EXPECT_FALSE(is_held(servers_[2], name_));
}

TEST_F(quorum_suite, a_server_that_hangs_delays_nobody_beyond_its_time) {
    const auto plan = std::make_shared<fault_plan>();
    auto all = plain_ones();
    all[1] = current().open_with_prefix(servers_[1].prefix, plan->wrapper());
    quorum_settings settings = patient("here");
    settings.server_timeout = 3s;
    quorum here{all, settings};
    plan->fail_when([](std::string_view, int) { return fault::hangs; });
    const auto start = local_clock::now();
    auto held = quorum_lock{here, name_}.try_acquire();
    EXPECT_LT(local_clock::now() - start, 9s) << "the hanging call was waited for";
    ASSERT_TRUE(held);
    EXPECT_EQ(held->tokens()[1], std::nullopt);
    plan->let_go();
    // A grant that comes too late is given back, by itself.
    held->release();
    EXPECT_TRUE(eventually([&] { return !is_held(servers_[1], name_); }));
}

// The worker of the first server looks at what the others have opened.
TEST_F(quorum_suite, it_ends_while_one_of_its_servers_is_still_being_opened) {
    const auto first = std::make_shared<fault_plan>(), slow = std::make_shared<fault_plan>();
    auto all = plain_ones();
    all[0] = current().open_with_prefix(servers_[0].prefix, first->wrapper());
    all[1] = current().open_with_prefix(servers_[1].prefix, slow->wrapper());
    std::atomic<bool> is_ending = false, first_goes = false;
    first->fail_when([&](std::string_view, int) -> std::optional<fault> {
        if (is_ending) first_goes = true;
        return {};
    });
    slow->fail_when([&](std::string_view, int) -> std::optional<fault> {
        (void)eventually([&] { return first_goes.load(); });
        return {};
    });
    quorum_settings settings = patient("here");
    settings.server_timeout = 500ms;
    {
        const quorum here{all, settings};
        // A worker that has not begun has nothing to end either.
        EXPECT_TRUE(eventually([&] { return first->calls() > 0; }));
        is_ending = true;
    }
    EXPECT_TRUE(first_goes) << "else it ended before the slow one went on";
}

TEST_F(quorum_suite, a_grant_whose_answer_was_lost_is_given_back) {
    const auto plan = std::make_shared<fault_plan>();
    auto all = plain_ones();
    all[2] = current().open_with_prefix(servers_[2].prefix, plan->wrapper());
    quorum here{all, patient("here")};
    session one{plain(servers_[0]), calm("one")}, two{plain(servers_[1]), calm("two")};
    auto a = mutex{one, name_}.try_acquire();
    auto b = mutex{two, name_}.try_acquire();
    plan->fail_every("lock", fault::lost_after_it);
    EXPECT_FALSE(is_granted(quorum_lock{here, name_}.try_acquire()));
    plan->heal();
    EXPECT_TRUE(eventually([&] { return !is_held(servers_[2], name_); }));
}

TEST_F(quorum_suite, the_same_database_twice_is_an_error) {
    auto all = plain_ones();
    all[2] = plain(servers_[0]);
    const auto refused = thrown_by([&] { quorum(all, patient("here")); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::invalid_argument);
    EXPECT_NE(std::string(refused->what()).find("1 and 3"), std::string::npos);
}

TEST_F(quorum_suite, the_same_database_twice_is_noticed_when_it_comes_later) {
    auto all = plain_ones();
    all[2] = gated(servers_[0]);
    servers_[0].way->close();
    quorum here{all, patient("here")};
    servers_[0].way->open();
    const auto refused = thrown_by([&] {
        EXPECT_TRUE(eventually([&] {
            (void)quorum_lock{here, name_}.try_acquire();
            return false;
        }));
    });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::invalid_argument);
}

TEST_F(quorum_suite, an_even_number_is_a_warning_and_none_is_an_error) {
    struct counting final : observer {
        void on_event(const event& what) noexcept override {
            // SQLite's version is warned of, too.
            if (what.kind == event_kind::warning && what.number == 2) ++warnings;
        }
        std::atomic<int> warnings = 0;
    };
    const auto counted = std::make_shared<counting>();
    database_settings settings;
    settings.observer = counted;
    quorum(std::vector{current().open(settings), plain(servers_[0])}, patient("here"));
    EXPECT_EQ(counted->warnings, 1);
    const auto none = thrown_by([&] { quorum(std::vector<database>{}, patient("here")); });
    ASSERT_TRUE(none);
    EXPECT_EQ(none->code(), errc::invalid_argument);
    quorum_settings slow = patient("here");
    slow.session.ttl = 30s;
    slow.server_timeout = 11s;
    EXPECT_TRUE(thrown_by([&] { quorum(plain_ones(), slow); }));
}

// With a long ttl Redlock's drift is longer than the usual margin of a session.
TEST_F(quorum_suite, a_lease_is_believed_for_its_ttl_less_elapsed_and_drift) {
    quorum_settings settings = patient("here");
    settings.session.ttl = 10h;
    const auto before = local_clock::now();
    quorum here{plain_ones(), settings};
    auto held = quorum_lock{here, name_}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_GE(held->deadline(), before + 10h - 360'002ms);
    EXPECT_LE(held->deadline(), local_clock::now() + 10h - 360'002ms);
}

TEST_F(quorum_suite, a_majority_that_hangs_is_refused_within_its_time) {
    const auto plan = std::make_shared<fault_plan>();
    auto all = plain_ones();
    for (const std::size_t at : {1U, 2U}) {
        all[at] = current().open_with_prefix(servers_[at].prefix, plan->wrapper());
    }
    quorum_settings settings = patient("here");
    settings.server_timeout = 3s;
    quorum here{all, settings};
    plan->fail_when([](std::string_view, int) { return fault::hangs; });
    const auto start = local_clock::now();
    auto refused = quorum_lock{here, name_}.try_acquire();
    // The time includes a second server_timeout to give back; the hanging calls would take longer.
    EXPECT_LT(local_clock::now() - start, 9s);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.servers().failed, 2U);
    EXPECT_TRUE(eventually([&] { return !is_held(servers_[0], name_); }));
    plan->let_go();
    for (const server& each : servers_) {
        EXPECT_TRUE(eventually([&] { return !is_held(each, name_); }));
    }
}

TEST_F(quorum_suite, four_contenders_lose_no_update_of_an_unprotected_counter) {
    constexpr int contenders = 4, rounds = 4;
    int unprotected = 0;
    {
        std::vector<thread> threads;
        for (int each = 0; each < contenders; ++each) {
            threads.emplace_back([&] {
                quorum mine{plain_ones(), patient("contender")};
                quorum_lock closing{mine, name_};
                for (int round = 0; round < rounds; ++round) {
                    auto held = closing.acquire();
                    const int seen = unprotected;
                    std::this_thread::yield();
                    unprotected = seen + 1;
                }
            });
        }
    }
    EXPECT_EQ(unprotected, contenders * rounds);
}

}  // namespace
}  // namespace leasehold::testing
