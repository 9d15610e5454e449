// A group of two primaries loses one: the other has no majority, and answers no commit until
// somebody says that it goes on alone. Each call that gives up leaves a statement at the server,
// which KILL does not end. However often programs try again, the server has no more of their
// connections than their pools and sessions may have, and refuses nobody.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <memory>

#include "cluster/cluster.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t survivor = 0, victim = 1;
constexpr int programs = 4, threads_each = 4, connections_each = 4;
constexpr auto ttl = 8s;

// A thread of a program, which locks and lets go, and opens a session anew where one was lost.
class locker {
public:
    locker(database on, int number)
        : on_(std::move(on)),
          name_("storm/" + std::to_string(number / 2)),
          thread_([this](const std::stop_token& over) { work(over); }, over_.get_token()) {}
    ~locker() { end(); }
    void end() {
        over_.request_stop();
        thread_ = {};
    }

    int grants() const { return grants_; }
    int failures() const { return failures_; }
    int sessions_made() const { return sessions_made_; }

private:
    void work(const std::stop_token& over) {
        std::unique_ptr<session> within;
        while (!over.stop_requested()) {
            try {
                if (!within || !within->is_live()) {
                    within = std::make_unique<session>(
                        on_, session_settings{.name = "storm", .ttl = ttl}
                    );
                    ++sessions_made_;
                }
                auto got = mutex{*within, name_}.acquire_for(2s);
                if (got && got->release() == release_outcome::released) ++grants_;
            } catch (const error& failure) {
                ++failures_;
                EXPECT_TRUE(failure.is_transient() || failure.code() == errc::session_lost)
                    << failure.what();
            }
        }
    }

    const database on_;
    const std::string name_;
    std::atomic<int> grants_ = 0, failures_ = 0, sessions_made_ = 0;
    std::stop_source over_;
    thread thread_;
};

class storm : public ::testing::Test {
protected:
    std::int64_t status(const char* name) const {
        return eye_
            .execute(
                "SELECT CAST(variable_value AS SIGNED) FROM performance_schema.global_status"
                " WHERE variable_name = $1",
                {name}
            )
            .rows.at(0)
            .integer(0);
    }
    void start() {
        database_settings settings;
        settings.max_connections = connections_each;
        settings.statement_timeout = 1s;
        for (int program = 0; program < programs; ++program) {
            const database on = cluster_.open(survivor, settings);
            for (int each = 0; each < threads_each; ++each) {
                lockers_.push_back(std::make_unique<locker>(on, program * threads_each + each));
            }
        }
    }
    template <class Has>
    bool all(Has&& has, std::chrono::milliseconds timeout) const {
        return eventually(
            [&] {
                return std::all_of(lockers_.begin(), lockers_.end(), [&](const auto& each) {
                    return has(*each);
                });
            },
            timeout
        );
    }

    const cluster cluster_;
    const database eye_ = cluster_.open(survivor);
    std::vector<std::unique_ptr<locker>> lockers_;
};

TEST_F(storm, a_group_without_a_majority_is_not_filled_with_connections) {
    ASSERT_EQ(cluster_.size(), 2U) << "run with --nodes 2";
    const auto before = status("Threads_connected");
    start();
    ASSERT_TRUE(all([](const locker& each) { return each.grants() > 0; }, 60s));
    const auto in_peace = status("Threads_connected") - before;
    const auto made_in_peace = status("Connections");
    cluster_.control(victim, "kill");

    constexpr int failures_each = 3;
    EXPECT_TRUE(all([](const locker& each) { return each.failures() >= failures_each; }, 120s));
    const auto start = local_clock::now();
    std::int64_t most = 0;
    EXPECT_TRUE(eventually(
        [&] {
            most = std::max(most, status("Threads_connected") - before);
            return local_clock::now() - start > 3 * ttl;
        },
        120s
    ));
    const auto made = status("Connections") - made_in_peace;
    std::printf(
        "connections: %ld in peace, %ld at most without a majority, %ld made meanwhile\n",
        static_cast<long>(in_peace),
        static_cast<long>(most),
        static_cast<long>(made)
    );
    // A pool has its connections, as many that sessions gave up, one that looks after those, and
    // one by which waiting calls are woken. A session has its heartbeat, and one that it gave up
    // when the others did.
    constexpr auto max_connections =
        programs * (2 * connections_each + 2) + programs * threads_each * 2;
    EXPECT_LE(most, max_connections);
    EXPECT_EQ(status("Connection_errors_max_connections"), 0);

    std::vector<int> grants;
    for (const auto& each : lockers_) grants.push_back(each->grants());
    cluster_.control(
        survivor,
        "sql 'SET GLOBAL group_replication_force_members ="
        " @@GLOBAL.group_replication_local_address'"
    );
    EXPECT_TRUE(eventually(
        [&] {
            for (std::size_t at = 0; at < lockers_.size(); ++at) {
                if (lockers_[at]->grants() == grants[at]) return false;
            }
            return true;
        },
        120s
    ));
    for (const auto& each : lockers_) each->end();
    lockers_.clear();
    EXPECT_TRUE(eventually([&] { return status("Threads_connected") <= before; }, 60s));
    EXPECT_EQ(status("Connection_errors_max_connections"), 0);
}

}  // namespace
}  // namespace leasehold::testing
