// A server that goes away for good, with the time-outs as they are by default: waits end by their
// deadline, when they are cancelled and when their session is lost, and nothing that says good-bye
// waits for it. The server is stopped, so CTest runs these serially, as fault_outage.<backend>.
#include <array>
#include <future>

#include "fault/server_control.hpp"
#include "fault/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::milliseconds;
using length = std::chrono::nanoseconds;

// True where it got what it wanted.
struct kind {
    const char* name;
    bool (*wait_for)(session&, const key&, length, std::stop_token);
    bool ends_with_its_session = true;
};

constexpr std::array kinds{
    kind{
        "mutex",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return static_cast<bool>(mutex{in, name}.acquire_for(most, stop));
        }},
    kind{
        "shared_mutex",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return static_cast<bool>(shared_mutex{in, name}.acquire_for(most, stop));
        }},
    kind{
        "shared_mutex, shared",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return static_cast<bool>(shared_mutex{in, name}.acquire_shared_for(most, stop));
        }},
    kind{
        "semaphore",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return static_cast<bool>(semaphore{in, name, 2}.acquire_for(2, most, stop));
        }},
    kind{
        "multi_lock",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return static_cast<bool>(
                multi_lock{in, {name, key{name.name() + "/2"}}}.acquire_for(most, stop)
            );
        }},
    kind{
        "barrier",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return barrier{in, name, 2}.arrive_and_wait_for(most, stop).has_value();
        }},
    kind{
        "latch",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return latch{in, name, 2}.wait_for(most, stop).is_open;
        },
        false},
    kind{
        "campaign",
        [](session& in, const key& name, length most, std::stop_token stop) {
            return leader_election{in, name}.campaign_for(most, stop).has_value();
        }},
};

// How the server goes away: its processes stand still, and what is sent to them is swallowed; or it
// is killed, and refuses.
enum class away { silent, refusing };
const char* name_of(away how) {
    return how == away::silent ? "silent" : "refusing";
}

class outage_patience : public server_suite, public ::testing::WithParamInterface<away> {
protected:
    // By default, and the second that the client library of MySQL and MariaDB has besides.
    static constexpr milliseconds statement_timeout{4500};
    // For a machine that stands still, and for whatever ran before.
    static constexpr milliseconds tolerance{4000};

    void cut() {
        if (GetParam() == away::silent) control_.pause();
        if (GetParam() == away::refusing) control_.kill();
    }
    static session_settings brief(const char* name) {
        auto settings = calm(name);
        settings.ttl = 8s;
        settings.heartbeat_every = 1s;
        settings.margin = 3s;  // for how long the machine may stand still
        return settings;
    }
    static void expect_within(milliseconds allowed, milliseconds took, const std::string& what) {
        EXPECT_LE(took, allowed) << what << " took " << took.count() << " ms";
    }
    static milliseconds since(local_clock::time_point start) {
        return std::chrono::duration_cast<milliseconds>(local_clock::now() - start);
    }

    // One of each kind, at once, each of a database handle of its own as in a program of its own.
    struct program {
        const kind* what;
        database db;
        session within;
        key name;
        std::future<std::optional<errc>> waiting{};
        local_clock::time_point ended{};
        bool has_got = false;
    };
    void start_programs(const session_settings& settings) {
        for (const kind& each : kinds) {
            database db = current().open({});
            programs_.push_back(std::unique_ptr<program>(new program{
                &each, db, session{db, settings}, key{fresh("k")}}));
        }
    }
    void start_waits(length most, const std::stop_token& stop) {
        for (const auto& each : programs_) {
            each->waiting = std::async(std::launch::async, [run = each.get(), most, stop] {
                const auto failure = thrown_by([&] {
                    run->has_got = run->what->wait_for(run->within, run->name, most, stop);
                });
                run->ended = local_clock::now();
                return failure ? std::optional{failure->code()} : std::nullopt;
            });
        }
    }
    // Held by others, so that all of them wait when the server goes away.
    void occupy(session& by) {
        for (const auto& each : programs_) {
            const std::string what = each->what->name;
            if (what == "shared_mutex" || what == "shared_mutex, shared") {
                held_.push_back(shared_mutex{by, each->name}.try_acquire());
            } else if (what == "semaphore") {
                held_.push_back(semaphore{by, each->name, 2}.try_acquire());
            } else if (what == "mutex" || what == "multi_lock" || what == "campaign") {
                held_.push_back(mutex{by, each->name}.try_acquire());
            }
        }
        for (auto& each : held_) EXPECT_TRUE(each);
    }
    void pass(milliseconds time) {
        const auto until = local_clock::now() + time;
        EXPECT_TRUE(eventually([&] { return local_clock::now() >= until; }));
    }
    void expect_all_ended(
        local_clock::time_point start, milliseconds allowed, std::optional<errc> because = {}
    ) {
        for (const auto& each : programs_) {
            if (because && !each->what->ends_with_its_session) continue;
            const auto code = each->waiting.get();
            EXPECT_FALSE(each->has_got) << each->what->name;
            expect_within(
                allowed,
                std::chrono::duration_cast<milliseconds>(each->ended - start),
                each->what->name
            );
            if (because) {
                EXPECT_EQ(code, because) << each->what->name;
            }
        }
    }

    server_control control_{current().name};
    std::vector<std::unique_ptr<program>> programs_;
    std::vector<acquisition> held_;
};

INSTANTIATE_TEST_SUITE_P(
    of,
    outage_patience,
    ::testing::Values(away::silent, away::refusing),
    [](const auto& each) { return std::string(name_of(each.param)); }
);

TEST_P(outage_patience, a_wait_ends_by_its_deadline) {
    start_programs(calm("patient"));
    cut();
    const auto start = local_clock::now();
    start_waits(1s, {});
    expect_all_ended(start, 1000ms + statement_timeout + tolerance);
}

TEST_P(outage_patience, a_wait_ends_when_it_is_cancelled) {
    database db = current().open({});
    session other{db, calm("other")};
    start_programs(calm("cancelled"));
    occupy(other);
    std::stop_source stop;
    start_waits(1h, stop.get_token());
    pass(500ms);
    cut();
    pass(6000ms);  // the outage is known by then
    stop.request_stop();
    // The client library of MySQL and MariaDB cannot be interrupted while it connects.
    const bool can_be_interrupted = current().name == "postgres";
    const auto allowed = can_be_interrupted ? 1000ms : statement_timeout;
    expect_all_ended(local_clock::now(), allowed + tolerance);
}

TEST_P(outage_patience, a_wait_ends_when_its_session_is_lost) {
    database db = current().open({});
    session other{db, calm("other")};
    start_programs(brief("lost"));
    occupy(other);
    std::stop_source stop;
    start_waits(1h, stop.get_token());
    pass(500ms);
    cut();
    for (const auto& each : programs_) EXPECT_TRUE(stopped(each->within.lost(), 30s));
    expect_all_ended(local_clock::now(), statement_timeout + tolerance, errc::session_lost);
    stop.request_stop();
}

TEST_P(outage_patience, a_lost_lease_is_not_waited_for) {
    database db = current().open({});
    session within{db, brief("lost")};
    auto held = mutex{within, fresh("k")}.try_acquire();
    auto permit = semaphore{within, fresh("s"), 2}.try_acquire();
    auto both = multi_lock{within, {key{fresh("a")}, key{fresh("b")}}}.try_acquire();
    ASSERT_TRUE(held && permit && both);
    cut();
    ASSERT_TRUE(stopped(held->lost(), 30s));
    const auto start = local_clock::now();
    { const auto gone = *std::move(held); }
    { const auto gone = *std::move(permit); }
    { const auto gone = *std::move(both); }
    expect_within(tolerance, since(start), "three lost leases");
}

TEST_P(outage_patience, the_end_of_a_program_takes_one_statement_timeout) {
    database db = current().open({});
    auto within = std::make_unique<session>(db, session_settings{});
    auto held = mutex{*within, fresh("k")}.try_acquire();
    auto permit = semaphore{*within, fresh("s"), 2}.try_acquire();
    auto both = multi_lock{*within, {key{fresh("a")}, key{fresh("b")}}}.try_acquire();
    ASSERT_TRUE(held && permit && both);
    cut();
    const auto start = local_clock::now();
    { const auto gone = *std::move(held); }
    { const auto gone = *std::move(permit); }
    { const auto gone = *std::move(both); }
    within.reset();
    expect_within(5000ms + tolerance, since(start), "the end");
}

}  // namespace
}  // namespace leasehold::testing
