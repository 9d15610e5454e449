// A former primary comes back as a second one: a program that has seen the promoted one takes
// nothing from the former one any more.
#include <memory>
#include <set>
#include <vector>

#include "cluster/standbys.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class former_primary : public standbys {
protected:
    // Both take writes once it has come back, and wait for nobody.
    std::size_t split() {
        const std::size_t former = primary();
        cluster_.control(former, "kill");
        promote(standby());
        return former;
    }
    void come_back(std::size_t former) const {
        cluster_.control(former, "set synchronous_standby_names ''");
        cluster_.control(former, "start");
        EXPECT_EQ(integer(former, "SELECT pg_is_in_recovery()::int"), 0);
    }
    static std::int64_t port_of(const database& db) {
        return db.execute("SELECT inet_server_port()").rows.at(0).integer(0);
    }
    // The ports of so many connections of this handle, most of which are new ones.
    static std::set<std::int64_t> ports_of(const database& db, int connections) {
        std::set<std::int64_t> ports;
        std::vector<transaction> all;
        for (int each = 0; each < connections; ++each) {
            all.push_back(db.begin());
            ports.insert(all.back().execute("SELECT inet_server_port()").rows.at(0).integer(0));
        }
        return ports;
    }
};

TEST_F(former_primary, is_refused_by_who_has_seen_the_promoted_one) {
    const database db = open_from(primary());
    session one{db, {.name = "one", .ttl = 120s, .heartbeat_every = 500ms}};
    auto held = mutex{one, "held"}.try_acquire();
    ASSERT_TRUE(held);
    const std::size_t former = split();
    ASSERT_TRUE(eventually_well([&] { return held->verify(); }));
    const std::int64_t promoted = port(primary());
    come_back(former);
    ASSERT_NE(port(former), promoted);

    constexpr int connections = 6;
    EXPECT_EQ(ports_of(db, connections), std::set<std::int64_t>{promoted});
    EXPECT_TRUE(warnings_->has("is a former primary"));
    EXPECT_TRUE(warnings_->has("Stop it"));
    // When the promoted one cannot be reached, the other one is no substitute.
    cluster_.control(primary(), "cut");
    std::string why;
    EXPECT_TRUE(eventually([&] {
        try {
            EXPECT_FALSE(is_granted(mutex{one, "other"}.try_acquire()));
        } catch (const error& failure) {
            EXPECT_TRUE(failure.is_transient()) << failure.what();
            why = failure.what();
        }
        return why.find("is a former primary") != std::string::npos;
    })) << why;
    const std::string beats = "SELECT count(*) FROM " + cluster_.prefix() +
                              "session WHERE heartbeat_at > now() - interval '900 ms'";
    EXPECT_EQ(integer(former, beats), 0);
    cluster_.control(primary(), "heal");
    ASSERT_TRUE(eventually_well([&] { return is_granted(mutex{one, "other"}.try_acquire()); }));
    EXPECT_TRUE(one.is_live());
    EXPECT_TRUE(eventually_well([&] { return held->verify(); }));
    EXPECT_EQ(integer(former, beats), 0);
    EXPECT_EQ(port_of(db), promoted);
}

// Neither timeline is older. A program that has used one takes nothing from the other.
TEST_F(former_primary, that_is_promoted_by_itself_is_told_apart) {
    const database db = open_from(primary());
    session one{db, {.name = "one", .ttl = 120s, .heartbeat_every = 500ms}};
    auto held = mutex{one, "held"}.try_acquire();
    ASSERT_TRUE(held);
    const std::size_t former = split();
    ASSERT_TRUE(eventually_well([&] { return is_granted(mutex{one, "seen"}.try_acquire()); }));
    cluster_.control(primary(), "kill");
    cluster_.control(former, "orphan");
    ASSERT_EQ(integer(former, "SELECT pg_is_in_recovery()::int"), 0);
    const auto is_refused = [&] {
        try {
            EXPECT_FALSE(is_granted(mutex{one, "other"}.try_acquire()));
            return false;
        } catch (const error& failure) {
            EXPECT_TRUE(failure.is_transient() || failure.outcome_is_unknown()) << failure.what();
            const std::string said = failure.what();
            return said.find("another branch of timeline ") != std::string::npos;
        }
    };
    EXPECT_TRUE(eventually(is_refused));
    EXPECT_TRUE(warnings_->has("another branch of timeline "));
    // A program that has just been started knows of no other one, and gives it a number.
    session fresh{open_from(former), {.name = "fresh"}};
    EXPECT_TRUE((mutex{fresh, "new"}.try_acquire()));
    EXPECT_TRUE(eventually(is_refused));
    cluster_.control(primary(), "start");
    EXPECT_TRUE(eventually_well([&] { return is_granted(mutex{one, "other"}.try_acquire()); }));
    EXPECT_TRUE(one.is_live());
    EXPECT_TRUE(eventually_well([&] { return held->verify(); }));
    EXPECT_EQ(port_of(db), port(primary()));
}

// All its processes stand still, and its kernel takes each connection: the first host of the URL.
TEST_F(former_primary, that_is_frozen_keeps_nobody_from_the_promoted_one) {
    const std::size_t former = primary();
    const database db = open_from(former);
    session one{db, {.name = "one", .ttl = 120s, .heartbeat_every = 500ms}};
    auto held = mutex{one, "held"}.try_acquire();
    ASSERT_TRUE(held);
    cluster_.control(former, "pause");
    promote(standby());
    EXPECT_TRUE(eventually_well([&] { return held->verify(); }));
    EXPECT_TRUE(eventually_well([&] { return is_granted(mutex{one, "next"}.try_acquire()); }));
    // A program that has seen neither of them goes on from the URL alone, at the first attempt.
    EXPECT_EQ(port_of(open_from(former)), port(primary()));
    session late{open_from(former), {.name = "late"}};
    EXPECT_FALSE(is_granted(mutex{late, "held"}.try_acquire()));
    EXPECT_TRUE(one.is_live());
    cluster_.control(former, "kill");
}

// Nobody has stopped it, and its connections stand: they are not used any more, once a new one has
// shown that it is of the past.
TEST_F(former_primary, loses_the_connections_there_are) {
    const std::size_t former = primary();
    const database db = open_from(standby());
    session one{db, {.name = "one", .ttl = 120s, .heartbeat_every = 50s}};
    constexpr int connections = 4;
    const std::int64_t first = port(former);
    std::vector<transaction> all;
    for (int each = 0; each < connections; ++each) {
        all.push_back(db.begin());
        EXPECT_EQ(all.back().execute("SELECT inet_server_port()").rows.at(0).integer(0), first);
    }
    cluster_.control(former, "isolate");
    promote(standby());
    transaction newest = db.begin();
    EXPECT_EQ(newest.execute("SELECT inet_server_port()").rows.at(0).integer(0), port(primary()));
    for (transaction& each : all) {
        EXPECT_THROW(each.execute("SELECT 1"), error);
    }
    all.clear();
    EXPECT_EQ(ports_of(db, connections), std::set<std::int64_t>{port(primary())});
    EXPECT_TRUE((mutex{one, "key"}.try_acquire()));
    cluster_.control(former, "rejoin");
}

}  // namespace
}  // namespace leasehold::testing
