// Other clients have all connections of a server: sessions that are in stay in, a call that needs
// one more is told that this may pass, the server is asked seldom, and calls go on as soon as there
// is room. The server is one of its own, which takes few connections: fault_full.<backend>.
#include <atomic>
#include <future>

#include "fault/relay.hpp"
#include "fault/suite.hpp"
#include "fault/where.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::milliseconds;

class full_server : public server_suite {
protected:
    static constexpr milliseconds timeout{1000};
    static constexpr milliseconds max_pause{2000};  // between two attempts to connect
    static constexpr milliseconds pause_last_min = max_pause / 2;
    static constexpr int pauses_until_last = 6;  // 50 ms, doubled
    static constexpr milliseconds tolerance{4000};

    database open_by_relay() const {
        database_settings settings;
        settings.names = first_.settings().names;
        settings.pool_timeout = timeout;
        return open_at(with_port(url_, relay_.port()), settings);
    }
    // Takes the connections that are left, and returns the server's error.
    error fill() {
        for (;;) {
            const auto failure = thrown_by([&] {
                taken_.push_back(others_.inner()->connections().connect_apart(5s));
            });
            if (failure) return *failure;
        }
    }
    static std::vector<transaction> all_of(const database& db) {
        std::vector<transaction> busy;
        while (!thrown_by([&] { busy.push_back(db.begin()); })) {
        }
        return busy;
    }
    static bool renewed(const session& which) {
        const auto deadline = which.deadline();
        return eventually([&] { return which.deadline() > deadline; }, 20s);
    }
    static milliseconds since(local_clock::time_point start) {
        return std::chrono::duration_cast<milliseconds>(local_clock::now() - start);
    }

    const std::string url_ = program_url_of(current().name, first_);
    relay relay_{host_of(url_), port_of(url_)};
    const database others_ = current().open({});
    std::vector<std::unique_ptr<connection>> taken_;
};

TEST_F(full_server, is_asked_seldom_and_keeps_the_sessions_it_has) {
    const database db = open_by_relay();
    session one{db, alert("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    ASSERT_TRUE(held && renewed(one));
    const error refusal = fill();
    EXPECT_EQ(refusal.code(), errc::connection_failed) << refusal.what();
    EXPECT_TRUE(refusal.is_transient()) << refusal.what();
    EXPECT_NE(std::string{refusal.what()}.find("settings::max_connections"), std::string::npos)
        << refusal.what();
    auto busy = all_of(db);
    EXPECT_FALSE(busy.empty());

    constexpr int callers = 4;
    const int before = relay_.accepted();
    const auto start = local_clock::now();
    std::atomic<bool> is_over = false;
    std::atomic<int> refused = 0;
    std::vector<std::future<void>> calls;
    for (int each = 0; each < callers; ++each) {
        calls.push_back(std::async(std::launch::async, [&] {
            while (!is_over) {
                const auto failure = thrown_by([&] { transaction tx = db.begin(); });
                EXPECT_TRUE(failure && failure->is_transient()) << (failure ? failure->what() : "");
                ++refused;
            }
        }));
    }
    EXPECT_TRUE(eventually([&] { return refused >= callers; }, 60s));
    EXPECT_TRUE(renewed(one));
    is_over = true;
    for (auto& each : calls) each.get();
    const int attempts = relay_.accepted() - before;
    const auto took = since(start);
    // One caller at a time asks for all, and each that has no time left asks once more.
    const auto max_attempts =
        pauses_until_last + took / pause_last_min + callers * (1 + took / timeout);
    EXPECT_LE(attempts, max_attempts) << "in " << took.count() << " ms";
    EXPECT_GT(attempts, 0);

    busy.clear();
    EXPECT_TRUE(held->verify());
    EXPECT_TRUE(one.is_live());
    busy = all_of(db);
    auto wanted = std::async(std::launch::async, [&] {
        return eventually([&] { return !thrown_by([&] { transaction tx = db.begin(); }); }, 60s);
    });
    taken_.clear();
    const auto room_since = local_clock::now();
    EXPECT_TRUE(wanted.get());
    EXPECT_LE(since(room_since), max_pause + tolerance);
    EXPECT_TRUE(renewed(one));
}

}  // namespace
}  // namespace leasehold::testing
