// Several nodes of one cluster are written to, and one of them is behind: its ignorance must
// neither cost a holder its lease nor let a former holder's proof pass.
//
// LEASEHOLD_PLAIN_CLUSTER: with the statements of one server, for which these tests are there
// to fail.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "cluster/cluster.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto short_ttl = 6s;  // a heartbeat comes after what is to be applied first
constexpr auto long_ttl = 60s;  // outlives a time without heartbeats, and hears of nothing in it

class several_writers : public ::testing::TestWithParam<bool> {
protected:
    // The holder's node, and the node that is behind; swapped in the second turn.
    std::size_t ahead() const { return GetParam() ? 1 : 0; }
    std::size_t behind() const { return GetParam() ? 0 : 1; }

    database open(std::size_t node, std::chrono::milliseconds statement_timeout = 3500ms) const {
        database_settings settings;
        settings.statement_timeout = statement_timeout;
        settings.one_node_is_written_to = std::getenv("LEASEHOLD_PLAIN_CLUSTER") != nullptr;
        return cluster_.open(node, std::move(settings));
    }
    std::string table(const char* name) const { return cluster_.prefix() + name; }
    // The count as this node sees it, however old that is.
    std::int64_t count(const database& on, const std::string& rest) const {
        return on.execute("SELECT COUNT(*) FROM " + rest).rows.at(0).integer(0);
    }

    // Makes a change that takes a while: a node that is let go applies it before all that follows.
    void make_burden() const {
        const database on = open(ahead(), 30s);
        on.execute("CREATE TABLE " + table("burden") + " (id INT PRIMARY KEY, n INT NOT NULL)");
        on.execute(
            "INSERT INTO " + table("burden") +
            " WITH RECURSIVE all_of (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM all_of WHERE id "
            "< 60000) SELECT id, 0 FROM all_of"
        );
    }
    void burden() const {
        const database on = open(ahead(), 30s);
        for (int times = 0; times < 3; ++times) {
            on.execute("UPDATE " + table("burden") + " SET n = n + 1");
        }
    }
    void drop_burden() const { open(ahead(), 30s).execute("DROP TABLE " + table("burden")); }

    // A node rolls back a transaction that is in the way of a change it applies: this repeats it.
    static void commit_on(const database& on, const std::function<void(transaction&)>& work) {
        constexpr int max_attempts = 10;
        for (int attempt = 1;; ++attempt) {
            try {
                transaction tx = on.begin();
                work(tx);
                tx.commit();
                return;
            } catch (const error& failure) {
                if (!failure.is_transient() || attempt == max_attempts) throw;
            }
        }
    }

    const cluster cluster_;
};

INSTANTIATE_TEST_SUITE_P(nodes, several_writers, ::testing::Bool(), [](const auto& each) {
    return each.param ? "the_first_is_behind" : "the_second_is_behind";
});

// Tries again and again, in a thread of its own, and never may have what it tries to get.
class contender {
public:
    contender(std::string what, std::function<bool()> gets_it)
        : what_(std::move(what)), gets_it_(std::move(gets_it)), thread_([this] { contend(); }) {}
    ~contender() { end(); }

    void end() {
        ends_ = true;
        if (thread_.joinable()) thread_.join();
    }
    const std::string& what() const { return what_; }
    int tries() const { return tries_; }
    int answers() const { return answers_; }
    bool has_got_it() const { return has_got_it_; }

private:
    void contend() {
        while (!ends_) {
            ++tries_;
            try {
                if (gets_it_()) has_got_it_ = true;
                ++answers_;
            } catch (const error&) {  // the node is behind
            }
        }
    }

    const std::string what_;
    const std::function<bool()> gets_it_;
    std::atomic<bool> ends_ = false;
    std::atomic<int> tries_ = 0;
    std::atomic<int> answers_ = 0;
    std::atomic<bool> has_got_it_ = false;
    std::thread thread_;
};

TEST_P(several_writers, a_live_holder_keeps_what_it_has) {
    const database holders = open(ahead()), others = open(behind()), eye = open(behind());
    make_burden();
    session first{holders, {.name = "holder", .ttl = short_ttl}};
    auto alone = mutex{first, "mutex"}.try_acquire();
    auto queued = mutex{first, "queue"}.try_acquire();
    auto reader = shared_mutex{first, "shared"}.try_acquire_shared();
    auto permit = semaphore{first, "permits", 2}.try_acquire(2);
    auto set = multi_lock{first, {"set/a", "set/b"}}.try_acquire();
    auto run = once{first, "once", schedule::every(24h)}.try_start();
    ASSERT_TRUE(alone && queued && reader && permit && set && run);

    session second{others, {.name = "other", .ttl = long_ttl}};
    ASSERT_TRUE(second.is_live());
    std::vector<std::unique_ptr<contender>> all;
    {
        node_behind behind_now{cluster_, behind()};
        burden();
        const std::string live = table("session") +
                                 " WHERE node_info LIKE 'holder%' AND expires_at > "
                                 "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
        ASSERT_TRUE(eventually([&] { return count(eye, live) == 0; }));
        const auto contend = [&](std::string what, std::function<bool()> gets_it) {
            all.push_back(std::make_unique<contender>(std::move(what), std::move(gets_it)));
        };
        contend("mutex", [&] { return is_granted(mutex{second, "mutex"}.try_acquire()); });
        contend("queue", [&] { return is_granted(mutex{second, "queue"}.acquire_for(300ms)); });
        contend("shared", [&] { return is_granted(shared_mutex{second, "shared"}.try_acquire()); });
        contend("permits", [&] {
            return is_granted(semaphore{second, "permits", 2}.try_acquire());
        });
        contend("set", [&] {
            return is_granted(multi_lock{second, {"set/a", "set/b"}}.try_acquire());
        });
        contend("once", [&] {
            return is_granted(once{second, "once", schedule::every(24h)}.try_start());
        });
        contend("reaper", [&] { return reap(others).locks_freed > 0; });
        for (const auto& each : all) {
            ASSERT_TRUE(eventually([&] { return each->tries() > 0; })) << each->what();
        }
    }
    for (const auto& each : all) {
        const int before = each->answers();
        EXPECT_TRUE(eventually([&] { return each->answers() > before + 1; })) << each->what();
    }
    for (const auto& each : all) {
        each->end();
        EXPECT_FALSE(each->has_got_it()) << each->what();
    }
    EXPECT_TRUE(first.is_live());
    EXPECT_TRUE(alone->verify());
    EXPECT_TRUE(queued->verify());
    EXPECT_TRUE(reader->verify());
    EXPECT_TRUE(permit->verify());
    EXPECT_TRUE(set->verify());
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    drop_burden();
}

TEST_P(several_writers, a_proof_of_what_was_lost_elsewhere_does_not_commit) {
    const database holders = open(ahead()), others = open(ahead()), lent = open(behind(), 30s);
    make_burden();
    others.execute("CREATE TABLE " + table("effect") + " (what VARCHAR(20) PRIMARY KEY)");
    session first{holders, {.name = "former", .ttl = long_ttl}};
    session second{others, {.name = "next", .ttl = long_ttl}};
    auto alone = mutex{first, "mutex"}.try_acquire();
    auto reader = shared_mutex{first, "shared"}.try_acquire_shared();
    auto permit = semaphore{first, "permits", 1}.try_acquire();
    auto set = multi_lock{first, {"set/a", "set/b"}}.try_acquire();
    ASSERT_TRUE(alone && reader && permit && set);
    {
        transaction tx = others.begin();
        fence_guard{others}.admit_in(tx, "guarded", {5});
        tx.commit();
    }
    ASSERT_TRUE(eventually([&] {
        return count(lent, table("fence_guard")) == 1 && count(lent, table("effect")) == 0;
    }));

    std::atomic<int> begun = 0;
    std::atomic<int> committed = 0;
    const auto write = [&](const char* what, const std::function<void(transaction&)>& prove) {
        ++begun;
        try {
            transaction tx = lent.begin();
            prove(tx);
            tx.execute("INSERT INTO " + table("effect") + " VALUES ($1)", {what});
            tx.commit();
            ++committed;
            ADD_FAILURE() << what << ": what was proved by a stale node was committed";
        } catch (const error& failure) {
            const bool is_as_said =
                failure.code() == errc::lease_lost || failure.code() == errc::transient;
            EXPECT_TRUE(is_as_said) << what << ": " << failure.what();
        }
    };
    std::vector<thread> all;
    std::vector<lease> next;
    {
        node_behind behind_now{cluster_, behind()};
        burden();
        for (const char* each : {"mutex", "shared", "permits", "set/a"}) {
            EXPECT_TRUE(force_release(others, each)) << each;
        }
        next.push_back(*mutex{second, "mutex"}.try_acquire());
        next.push_back(*shared_mutex{second, "shared"}.try_acquire());
        next.push_back(*semaphore{second, "permits", 1}.try_acquire());
        next.push_back(*mutex{second, "set/a"}.try_acquire());
        transaction tx = others.begin();
        fence_guard{others}.admit_in(tx, "guarded", {6});
        tx.commit();
        ASSERT_TRUE(alone->held_locally() && reader->held_locally());
        all.emplace_back([&] { write("mutex", [&](auto& in) { alone->verify_in(in); }); });
        all.emplace_back([&] { write("shared", [&](auto& in) { reader->verify_in(in); }); });
        all.emplace_back([&] { write("permits", [&](auto& in) { permit->verify_in(in); }); });
        all.emplace_back([&] { write("set", [&](auto& in) { set->verify_in(in); }); });
        all.emplace_back([&] {
            write("guarded", [&](auto& in) { fence_guard{lent}.admit_in(in, "guarded", {5}); });
        });
        ASSERT_TRUE(eventually([&] { return begun == 5; }));
    }
    all.clear();  // waits for them
    EXPECT_EQ(committed, 0);
    EXPECT_EQ(count(others, table("effect")), 0);
    for (lease& each : next) EXPECT_TRUE(each.verify());
    others.execute("DROP TABLE " + table("effect"));
    drop_burden();
}

// The user's own connection is to another node than leasehold's, and hears of a grant a little
// later.
TEST_P(several_writers, a_lease_is_proved_on_another_node_at_once) {
    const database holders = open(ahead()), lent = open(behind());
    session first{holders, {.name = "holder"}};
    for (int round = 0; round < 30; ++round) {
        const std::string key = "fresh/" + std::to_string(round);
        auto alone = mutex{first, key}.try_acquire();
        auto permit = semaphore{first, key + "/permits", 1}.try_acquire();
        auto set = multi_lock{first, {key + "/a", key + "/b"}}.try_acquire();
        ASSERT_TRUE(alone && permit && set);
        commit_on(lent, [&](transaction& tx) {
            alone->verify_in(tx);
            permit->verify_in(tx);
            set->verify_in(tx);
        });
    }
    auto run = once{first, "task", schedule::every(24h)}.try_start();
    ASSERT_TRUE(run);
    commit_on(lent, [&](transaction& tx) { run->finish_in(tx); });
}

// A dead holder's key is free everywhere, and its death is proved by changing its row.
TEST_P(several_writers, what_a_dead_session_held_is_taken_on_another_node) {
    const database holders = open(ahead()), others = open(behind());
    session second{others, {.name = "other"}};
    std::int64_t token = 0;
    {
        session first{holders, {.name = "dies", .ttl = short_ttl}};
        auto alone = mutex{first, "mutex"}.try_acquire();
        auto reader = shared_mutex{first, "shared"}.try_acquire_shared();
        ASSERT_TRUE(alone && reader);
        token = alone->token().number;
        // This looks as if its process had been killed: the rows stay, and nobody renews them.
        holders.execute(
            "UPDATE " + table("session") + " SET expires_at = 1 WHERE node_info LIKE 'dies%'"
        );
        ASSERT_TRUE(stopped(alone->lost(), 20s));
    }
    auto alone = mutex{second, "mutex"}.acquire_for(20s);
    ASSERT_TRUE(alone);
    EXPECT_GT(alone->token().number, token);
    EXPECT_TRUE((is_granted(shared_mutex{second, "shared"}.acquire_for(20s))));
}

class claims_in_a_cluster : public several_writers {
protected:
    void make_tasks() const {
        const database on = open(ahead());
        on.execute(
            "CREATE TABLE " + table("task") +
            " (id INT PRIMARY KEY, version INT NOT NULL, state VARCHAR(10) NOT NULL)"
        );
        on.execute("INSERT INTO " + table("task") + " VALUES (1, 1, 'open')");
        ASSERT_TRUE(eventually([&] {
            try {
                return count(open(behind()), table("task")) == 1;
            } catch (const error&) {
                return false;
            }
        }));
    }
};

INSTANTIATE_TEST_SUITE_P(nodes, claims_in_a_cluster, ::testing::Bool(), [](const auto& each) {
    return each.param ? "the_first_is_behind" : "the_second_is_behind";
});

TEST_P(claims_in_a_cluster, one_of_two_nodes_gets_a_row_by_its_version) {
    make_tasks();
    versioned_mapping mapping;
    mapping.table = {table("task")};
    mapping.key = {"id"};
    mapping.version = "version";
    mapping.state = {"state", "open", "taken", "done"};
    const versioned_claim tasks{mapping};
    make_burden();
    const database one = open(ahead()), other = open(behind(), 30s);
    std::atomic<int> won = 0;
    std::atomic<bool> has_begun = false;
    thread late;
    {
        node_behind behind_now{cluster_, behind()};
        burden();
        transaction here = one.begin();
        won += tasks.try_claim_in(here, parameters{1}).has_value();
        here.commit();
        late = thread{[&] {
            try {
                transaction there = other.begin();
                has_begun = true;
                const bool has_one = tasks.try_claim_in(there, parameters{1}).has_value();
                there.commit();
                won += has_one;
            } catch (const error& failure) {
                EXPECT_EQ(failure.code(), errc::transient) << failure.what();
            }
        }};
        ASSERT_TRUE(eventually([&] { return has_begun.load(); }));
    }
    late = {};  // waits for it
    EXPECT_EQ(won, 1);
    one.execute("DROP TABLE " + table("task"));
    drop_burden();
}

TEST_P(claims_in_a_cluster, a_claim_by_a_row_lock_is_refused) {
    make_tasks();
    row_mapping mapping;
    mapping.table = {table("task")};
    mapping.key = {"id"};
    const database here = open(ahead());
    {
        transaction tx = here.begin();
        try {
            static_cast<void>(row_claim{mapping}.claim_in(tx, {1}, nowait));
            ADD_FAILURE() << "it was claimed";
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), errc::schema_mismatch) << failure.what();
        }
    }
    mapping.one_node_is_written_to = true;
    transaction tx = here.begin();
    EXPECT_TRUE((row_claim{mapping}.claim_in(tx, {1}, nowait)));
    tx.rollback();
    here.execute("DROP TABLE " + table("task"));
}

}  // namespace
}  // namespace leasehold::testing
