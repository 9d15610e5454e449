// A server that goes away for good, with the time-outs as they are by default: waits end by their
// deadline, when they are cancelled and when their session is lost, and nothing that says good-bye
// waits for it. The server is stopped, so CTest gives these one of their own, as
// fault_outage.<backend>.
#include <future>

#include "fault/relay.hpp"
#include "fault/server_control.hpp"
#include "fault/suite.hpp"
#include "fault/where.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/leader_election.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/once.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/url.hpp"
#include "support/waiting_calls.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::milliseconds;

// The ways in which the server goes away. silent: its processes stand still, and what is sent to
// them is swallowed. refusing: it is killed. half_open: the network swallows what is sent; new
// connections are let in and hear nothing. dropping: old connections are swallowed, and new ones
// are well.
enum class away { silent, refusing, half_open, dropping };
const char* name_of(away how) {
    switch (how) {
        case away::silent:
            return "silent";
        case away::refusing:
            return "refusing";
        case away::half_open:
            return "half_open";
        case away::dropping:
            return "dropping";
    }
    return "unknown";
}

class outage_timeout : public server_suite, public ::testing::WithParamInterface<away> {
protected:
    // The default, and the second that the client library of MySQL and MariaDB has besides.
    static constexpr milliseconds statement_timeout{3500};
    // The time for a machine that stands still, and for whatever ran before.
    static constexpr milliseconds tolerance{4000};

    void cut() {
        if (GetParam() == away::silent) control_.pause();
        if (GetParam() == away::refusing) control_.kill();
        if (GetParam() == away::half_open) between_.swallow();
        if (GetParam() == away::dropping) between_.swallow_old();
    }
    // The database of the session that loses the server; others go past the network that fails.
    database open() {
        const bool is_networks = GetParam() == away::half_open || GetParam() == away::dropping;
        if (!is_networks) return current().open({});
        database_settings settings;
        settings.names = first_.settings().names;
        return open_at(with_port(url_, between_.port()), settings);
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
        const waiting_call* what;
        database db;
        session within;
        key name;
        waiting_call::call wait;
        std::future<std::optional<errc>> waiting{};
        local_clock::time_point ended{};
        bool has_got = false;
    };
    void start_programs(const session_settings& settings) {
        for (const waiting_call& each : waiting_calls()) {
            database db = open();
            programs_.push_back(std::unique_ptr<program>(new program{
                &each, db, session{db, settings}, key{fresh("k")}, {}}));
            program& made = *programs_.back();
            made.wait = each.prepare(made.within, made.name);
        }
    }
    void start_waits(std::chrono::nanoseconds most, const std::stop_token& stop) {
        for (const auto& each : programs_) {
            each->waiting = std::async(std::launch::async, [run = each.get(), most, stop] {
                const auto failure = thrown_by([&] { run->has_got = run->wait(most, stop); });
                run->ended = local_clock::now();
                return failure ? std::optional{failure->code()} : std::nullopt;
            });
        }
    }
    // Held by others, so that all of them wait when the server goes away.
    void occupy(session& by) {
        for (const auto& each : programs_) {
            if (!each->what->occupy) continue;
            held_.push_back(each->what->occupy(by, each->name));
            EXPECT_TRUE(held_.back()) << each->what->name;
        }
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

    const std::string url_ = program_url_of(current().name, first_);
    relay between_{host_of(url_), port_of(url_)};
    server_control control_{current().name};
    std::vector<std::unique_ptr<program>> programs_;
    std::vector<std::shared_ptr<void>> held_;
};

// The server cannot be reached at all.
class outage_for_good : public outage_timeout {};

std::string name_of_case(const ::testing::TestParamInfo<away>& which) {
    return name_of(which.param);
}
INSTANTIATE_TEST_SUITE_P(
    of,
    outage_timeout,
    ::testing::Values(away::silent, away::refusing, away::half_open, away::dropping),
    name_of_case
);
INSTANTIATE_TEST_SUITE_P(
    of,
    outage_for_good,
    ::testing::Values(away::silent, away::refusing, away::half_open),
    name_of_case
);

TEST_P(outage_timeout, a_wait_ends_by_its_deadline) {
    database db = current().open({});
    session other{db, calm("other")};
    start_programs(calm("patient"));
    occupy(other);
    cut();
    const auto start = local_clock::now();
    start_waits(1s, {});
    expect_all_ended(start, 1000ms + statement_timeout + tolerance);
}

TEST_P(outage_timeout, a_wait_ends_when_it_is_cancelled) {
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

TEST_P(outage_for_good, a_wait_ends_when_its_session_is_lost) {
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

TEST_P(outage_for_good, a_lost_lease_is_not_waited_for) {
    database db = open();
    session within{db, brief("lost")};
    auto held = mutex{within, fresh("k")}.try_acquire();
    auto permit = semaphore{within, fresh("s"), 2}.try_acquire();
    auto both = multi_lock{within, {key{fresh("a")}, key{fresh("b")}}}.try_acquire();
    once_settings limited;
    limited.fixed_term = 4s;
    auto run = once{within, fresh("t"), schedule::every(1h), limited}.try_start();
    ASSERT_TRUE(held && permit && both && run);
    cut();
    ASSERT_TRUE(stopped(held->lost(), 30s) && stopped(run->lease().lost(), 30s));
    const auto start = local_clock::now();
    { const auto gone = *std::move(held); }
    { const auto gone = *std::move(permit); }
    { const auto gone = *std::move(both); }
    { const auto gone = *std::move(run); }
    expect_within(tolerance, since(start), "three lost leases and a run over its limit");
}

TEST_P(outage_timeout, the_end_of_a_program_takes_one_statement_timeout) {
    database db = open();
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
    expect_within(4000ms + tolerance, since(start), "the end");
}

class outage_of_old_connections : public outage_timeout {};
INSTANTIATE_TEST_SUITE_P(
    of, outage_of_old_connections, ::testing::Values(away::dropping), name_of_case
);

// It goes on over new ones: nothing is lost, and a waiter is granted the key that becomes free.
TEST_P(outage_of_old_connections, is_outlived) {
    database db = current().open({});
    session other{db, calm("other")};
    database behind = open();
    auto settings = calm("outlives");
    settings.heartbeat_every = 1s;
    session mine{behind, settings};
    auto held = mutex{mine, fresh("mine")}.try_acquire();
    const key name = fresh("k");
    auto theirs = mutex{other, name}.try_acquire();
    ASSERT_TRUE(held && theirs);
    auto waiting = std::async(std::launch::async, [&] {
        return mutex{mine, name}.acquire_for(60s);
    });
    ASSERT_TRUE(eventually([&] { return describe(db, name)->waiters == 1; }));
    cut();
    EXPECT_EQ(theirs->release(), release_outcome::released);
    auto got = waiting.get();
    ASSERT_TRUE(got);
    // One question over each old connection gets no answer.
    const auto is_proved = [](lease& which) {
        bool is_held = false;
        return !thrown_by([&] { is_held = which.verify(); }) && is_held;
    };
    EXPECT_TRUE(eventually([&] { return is_proved(*got); }, 60s));
    EXPECT_TRUE(eventually([&] { return is_proved(*held); }, 60s));
    EXPECT_TRUE(mine.is_live());
    EXPECT_GT(between_.bytes_swallowed(), 0) << "nothing was lost";
}

}  // namespace
}  // namespace leasehold::testing
