// No setting of a server, a database or a role bends a statement of the library: the core of what
// it promises, under each that could, one after the other.
//
// On MySQL and MariaDB they are global, and restored whatever happens: nothing else may use the
// server meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "database/database.hpp"
#include "fault/hostile_place.hpp"
#include "leasehold/claim_mapping.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/versioned_claim.hpp"
#include "locks/hold_store.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/required.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {

using namespace std::chrono_literals;

void PrintTo(const hostile_setting& each, std::ostream* out) {
    *out << each.name;
}

namespace {

hostile_place& place() {
    static const std::unique_ptr<hostile_place> made = make_hostile_place();
    return *made;
}

class settings_suite : public ::testing::TestWithParam<hostile_setting> {
protected:
    ~settings_suite() override { place().restore(); }

    static void set() {
        try {
            place().set(GetParam());
        } catch (const error& failure) {
            throw std::runtime_error(failure.what() + (": " + failure.server_message()));
        }
    }
    static mutex_settings keen() {
        mutex_settings settings;
        settings.min_poll = 1ms;
        settings.max_poll = 20ms;
        return settings;
    }
    static session_settings lively(const char* name) {
        session_settings settings = calm(name);
        settings.heartbeat_every = 50ms;
        return settings;
    }
    void run(const std::string& sql, const parameters& values = {}) const {
        transaction tx = one_.begin();
        tx.execute(sql, values);
        tx.commit();
    }
    void expire(const session& dead) const {
        run("UPDATE " + prefix_ + "session SET expires_at = " +
                place().two_hours_before("expires_at") + " WHERE id = " + place().first_parameter(),
            {blob{dead.id().bytes()}});
    }

    void one_holds_it_and_another_does_not();
    void the_dead_are_succeeded();
    void a_release_hands_over();
    void permits_are_counted();
    void what_is_lost_is_told_and_nothing_else();
    void lists_are_whole();
    void several_travel_together();
    void a_session_comes_and_goes_with_its_lease();
    void rows_are_claimed();

    const std::string prefix_ = fresh_prefix();
    database one_ = place().open(prefix_), two_ = place().open(prefix_);
};

void settings_suite::one_holds_it_and_another_does_not() {
    session one{one_, calm("one")}, two{two_, calm("two")};
    auto held = mutex{one, "a"}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_FALSE(is_granted(mutex{two, "a"}.try_acquire()));
    {
        transaction tx = one_.begin();
        held->verify_in(tx);
        tx.commit();
    }
    EXPECT_TRUE(held->verify());
    const auto seen = describe(two_, "a");
    ASSERT_TRUE(seen) << "what was granted is committed";
    EXPECT_EQ(seen->token, held->token());
    EXPECT_EQ(held->release(), release_outcome::released);
    auto next = mutex{two, "a"}.try_acquire();
    ASSERT_TRUE(next);
    EXPECT_GT(next->token(), held->token());
}

void settings_suite::the_dead_are_succeeded() {
    session dead{one_, calm("dead")}, heir{two_, calm("heir")};
    auto lost = mutex{dead, "b"}.try_acquire();
    ASSERT_TRUE(lost);
    EXPECT_FALSE(is_granted(mutex{heir, "b"}.try_acquire()));
    expire(dead);
    auto taken = mutex{heir, "b"}.try_acquire();
    ASSERT_TRUE(taken);
    EXPECT_GT(taken->token(), lost->token());
    auto left = mutex{heir, "x"}.try_acquire();
    expire(heir);
    reap(two_);
    EXPECT_FALSE(describe(one_, "x")->is_held);
}

void settings_suite::a_release_hands_over() {
    session one{one_, calm("one")}, two{two_, calm("two")};
    auto held = mutex{one, "c"}.try_acquire();
    ASSERT_TRUE(held);
    std::int64_t token = 0;
    {
        const thread waiting{[&] {
            auto got = mutex{two, "c", keen()}.acquire_for(30s);
            if (got) token = got->token().number;
        }};
        EXPECT_TRUE(eventually([&] {
            const auto seen = describe(one_, "c");
            return seen && seen->waiters == 1;
        }));
        EXPECT_EQ(held->release(), release_outcome::released);
    }
    EXPECT_EQ(token, held->token().number + 1);
}

void settings_suite::permits_are_counted() {
    session one{one_, calm("one")}, two{two_, calm("two")};
    semaphore ours{one, "d", 2}, theirs{two, "d", 2};
    auto first = ours.try_acquire(), second = theirs.try_acquire();
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(is_granted(ours.try_acquire()));
    EXPECT_EQ(second->release(), release_outcome::released);
    EXPECT_TRUE(ours.try_acquire());
}

// A hold that is not among the rows of an answer counts as lost.
void settings_suite::what_is_lost_is_told_and_nothing_else() {
    session one{one_, lively("one")};
    std::vector<acquisition> held;
    for (const char* each : {"e1", "e2", "e3"}) held.push_back(mutex{one, each}.try_acquire());
    EXPECT_TRUE(force_release(two_, "e2"));
    EXPECT_TRUE(stopped(held[1]->lost(), 20s));
    EXPECT_TRUE(held[0]->held_locally() && held[2]->held_locally());
    EXPECT_TRUE(one.is_live());
}

void settings_suite::lists_are_whole() {
    session one{one_, calm("one")};
    std::vector<acquisition> held;
    for (const char* each : {"f1", "f2", "f3", "f4"})
        held.push_back(mutex{one, each}.try_acquire());
    EXPECT_EQ(list_locks(two_, "f").size(), 4U);
    EXPECT_GE(list_sessions(two_).size(), 1U);
}

void settings_suite::several_travel_together() {
    session one{one_, calm("one")};
    std::vector<acquire_request> wanted;
    std::vector<const acquire_request*> all;
    for (int each = 0; each < 64; ++each) {
        const std::string name = std::to_string(each) + std::string(250, 'g');
        for (int times = 0; times < 2; ++times) ASSERT_TRUE(mutex(one, name).try_acquire());
        wanted.push_back({name, owner_id::random(), one.id(), R"("node", \{NULL})", std::nullopt});
    }
    for (const acquire_request& each : wanted) all.push_back(&each);
    const auto granted = [&] {
        return one_.inner()->use([&](connection& on, store_set& stores) {
            const auto tokens = stores.get<hold_store>().try_acquire_several(on, all);
            std::vector<hold> held;
            std::vector<const hold*> ours;
            for (std::size_t at = 0; at < wanted.size(); ++at) {
                const acquire_request& each = wanted[at];
                EXPECT_EQ(
                    stores.get<hold_store>().find_grant(on, each.key, each.owner), tokens[at]
                );
                if (!tokens[at]) continue;
                held.push_back({each.key, each.owner, *tokens[at]});
                const auto seen = stores.get<hold_store>().describe(on, each.key, false);
                EXPECT_EQ(seen->info.node_info, each.node_info);
                EXPECT_FALSE(seen->metadata);
            }
            for (const hold& each : held) ours.push_back(&each);
            std::vector<bool> are_free;
            if (!ours.empty()) are_free = stores.get<hold_store>().release_several(on, ours);
            return std::pair{held.size(), std::count(are_free.begin(), are_free.end(), true)};
        });
    };
    // As many grants as go into one packet.
    const auto [plain, freed] = granted();
    EXPECT_GT(plain, 5U);
    EXPECT_GT(freed, 5);
    for (acquire_request& each : wanted) {
        each.owner = owner_id::random();
        each.fixed_term = 1h;
    }
    granted();
}

// The key is there already, so that these are the statements that send both.
void settings_suite::a_session_comes_and_goes_with_its_lease() {
    session two{two_, calm("two")};
    fencing_token before;
    {
        auto first = mutex{two, "h"}.try_acquire();
        ASSERT_TRUE(first);
        before = first->token();
    }
    session_settings settings = calm("late");
    settings.begins_with_grant = true;
    session late{one_, settings};
    const auto rows = [&] {
        const auto all = list_sessions(two_);
        return std::count_if(all.begin(), all.end(), [&](const session_info& each) {
            return each.id == late.id() && each.is_live && each.remaining > 59min;
        });
    };
    EXPECT_EQ(rows(), 0);
    mutex_settings words;
    words.metadata = R"("words", \{NULL}\')";
    auto held = mutex{late, "h", words}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->token().number, before.number + 1);
    EXPECT_EQ(rows(), 1);
    EXPECT_FALSE(is_granted(mutex{two, "h"}.try_acquire()));
    const auto seen = describe(two_, "h");
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->session, late.id());
    EXPECT_EQ(seen->metadata, words.metadata);
    EXPECT_EQ(late.end_with(std::move(*held)), release_outcome::released);
    EXPECT_EQ(rows(), 0);
    EXPECT_FALSE(describe(two_, "h")->is_held);
}

void settings_suite::rows_are_claimed() {
    const std::string table = prefix_ + "seat";
    run("CREATE TABLE " + table + " (id " + place().bytes_type() +
        " NOT NULL PRIMARY KEY, status VARCHAR(8) NOT NULL, version BIGINT NOT NULL, ends_at "
        "BIGINT)" +
        place().end_of_table());
    for (const char* each : {"\\x61", "b'\"", "c", "\xff", "e"}) {
        run("INSERT INTO " + table + " (id, status, version) VALUES (" + place().first_parameter() +
                ", 'free', 1)",
            {blob{each}});
    }
    versioned_mapping seats;
    seats.table = {table};
    seats.key = {"id"};
    seats.version = "version";
    seats.state = {"status", "free", "sold"};
    seats.order = {"id"};
    seats.expires_at = "ends_at";
    seats.term = 1h;
    seats.times = time_kind::microseconds;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    run("UPDATE " + table + " SET status = 'sold', ends_at = " +
            std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now - 1h).count()
            ) +
            " WHERE id <> " + place().first_parameter(),
        {blob{"\\x61"}});
    const versioned_claim claims{seats};
    transaction tx = one_.begin();
    EXPECT_TRUE(claims.try_claim_in(tx, {blob{"\\x61"}}));
    EXPECT_EQ(claims.try_claim_some_in(tx, 9).size(), 4U) << "those past their term";
    const auto real = tx.execute("SELECT " + place().one_third()).rows.at(0).at(0).real();
    EXPECT_EQ(real, 1.0 / 3.0);
    tx.commit();
    run("DROP TABLE " + table);
}

TEST_P(settings_suite, the_core_holds) {
    set();
    migrate(one_);
    one_holds_it_and_another_does_not();
    the_dead_are_succeeded();
    a_release_hands_over();
    permits_are_counted();
    what_is_lost_is_told_and_nothing_else();
    lists_are_whole();
    several_travel_together();
    a_session_comes_and_goes_with_its_lease();
    rows_are_claimed();
    if (!GetParam().question.empty()) {
        transaction tx = two_.begin();
        const value found = tx.execute(GetParam().question).rows.at(0).at(0);
        const auto* number = std::get_if<std::int64_t>(&found.held());
        EXPECT_EQ(number ? std::to_string(*number) : found.text(), GetParam().answer);
    }
    migrate_down(one_, 0);
}

INSTANTIATE_TEST_SUITE_P(
    hostile,
    settings_suite,
    ::testing::ValuesIn(hostile_settings()),
    [](const auto& each) { return each.param.name; }
);

class refused_settings_suite : public settings_suite {};

TEST_P(refused_settings_suite, by_name) {
    set();
    try {
        migrate(one_);
        FAIL() << "it was not refused";
    } catch (const error& failure) {
        EXPECT_NE(std::string{failure.what()}.find(GetParam().answer), std::string::npos)
            << failure.what();
        EXPECT_FALSE(failure.is_transient());
    }
}

INSTANTIATE_TEST_SUITE_P(
    hostile,
    refused_settings_suite,
    ::testing::ValuesIn(refused_settings()),
    [](const auto& each) { return each.param.name; }
);

}  // namespace
}  // namespace leasehold::testing
