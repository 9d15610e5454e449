// The server stands still for longer than a TTL, or is killed and started again. It is stopped by
// the CONTROL program of tests/support/servers, so nothing else may use it meanwhile: CTest
// gives these servers of their own, as fault_outage.<backend>.
#include "fault/impatient.hpp"
#include "fault/server_control.hpp"
#include "fault/suite.hpp"
#include "leasehold/doctor.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::milliseconds;

class outage : public server_suite {
protected:
    // The heartbeat has its connection by then: the server is paused process by process, and one
    // that begins in that moment could be missed.
    static void wait_for_heartbeat(const session& of) {
        const auto deadline = of.deadline();
        EXPECT_TRUE(eventually([&] { return of.deadline() > deadline; }));
    }

    // The doctor's words on a key that nobody gets.
    std::string keeps_closed(const key& name) const {
        std::string words;
        for (const finding& each : diagnose_key(second_, name).findings) words += each.what + "\n";
        return words;
    }

    // The time that each limit allows for one request: a connection, and an answer.
    static constexpr milliseconds limit{1000};
    static constexpr milliseconds max_request = 2 * limit;
    static constexpr milliseconds tolerance{5000};

    static session_settings brief(const char* name) {
        auto settings = calm(name);
        settings.ttl = 6000ms;
        settings.heartbeat_every = 1000ms;
        settings.margin = 2500ms;  // for how long the machine may stand still
        return settings;
    }

    // A call made while nothing answers; how long it took is judged when it is over.
    struct timed_call {
        const char* what;
        milliseconds allowed;
        std::future<milliseconds> took;
    };
    template <class Call>
    void start(const char* what, int requests, milliseconds timeout, Call call) {
        auto run = [call = std::move(call)]() mutable {
            const auto sent = local_clock::now();
            static_cast<void>(thrown_by(call));
            return std::chrono::duration_cast<milliseconds>(local_clock::now() - sent);
        };
        calls_.push_back(
            {what,
             requests * max_request + timeout + tolerance,
             std::async(std::launch::async, std::move(run))}
        );
    }
    void expect_all_in_time() {
        for (auto& each : calls_) {
            if (each.took.wait_for(60s) != std::future_status::ready) {
                ADD_FAILURE() << each.what << " hangs";
                continue;
            }
            const auto took = each.took.get();
            EXPECT_LE(took, each.allowed) << each.what << " took " << took.count() << " ms";
        }
        calls_.clear();
    }

    server_control control_{current().name};
    std::vector<timed_call> calls_;
};

// The victim's view of an outage: everything returns, and it is told in time.
TEST_F(outage, longer_than_the_ttl_ends_a_lease_before_anyone_else_can_have_it) {
    database cut_off = current().open(impatient(limit));
    session holder{cut_off, brief("holder")};
    const key name = fresh("k"), other = fresh("other");
    auto held = mutex{holder, name}.try_acquire();
    auto released = mutex{holder, other}.try_acquire();
    ASSERT_TRUE(held && released);
    wait_for_heartbeat(holder);
    const auto token = held->token();
    transaction open = cut_off.begin();
    std::atomic<local_clock::time_point> told{local_clock::time_point{}};
    const std::stop_callback on_loss{held->lost(), [&] { told = local_clock::now(); }};

    control_.pause();
    const auto margin = *holder.settings().margin;
    start("try_acquire", 2, 0ms, [&] { (void)mutex{holder, fresh("free")}.try_acquire(); });
    start("acquire_for", 2, 1000ms, [&] { (void)mutex{holder, fresh("free")}.acquire_for(1s); });
    start("verify", 1, 0ms, [&] { (void)held->verify(); });
    start("verify_in", 1, 0ms, [&] { held->verify_in(open); });
    start("begin", 1, 0ms, [&] { transaction tx = cut_off.begin(); });
    start("describe", 1, 0ms, [&] { describe(cut_off, name); });
    start("release", 3, 0ms, [&] { released->release(); });
    start("session", 3, 0ms, [&] { (void)session{cut_off, brief("new")}; });
    ASSERT_TRUE(stopped(held->lost(), 20s));
    ASSERT_TRUE(eventually([&] { return told.load() != local_clock::time_point{}; }));
    // The deadline stands still now, and the database's own expiry is at least a margin after it.
    EXPECT_LT(told.load(), holder.deadline() + margin) << "told only after the expiry";
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
    EXPECT_FALSE(held->held_locally());
    expect_all_in_time();
    const auto expiry = holder.deadline() + margin;
    EXPECT_TRUE(eventually([&] { return local_clock::now() > expiry + 1s; }));
    control_.resume();

    session heir{second_, calm("heir")};
    auto taken = mutex{heir, name}.acquire_for(20s);
    ASSERT_TRUE(taken) << keeps_closed(name);
    EXPECT_GT(taken->token(), token);
    EXPECT_FALSE(holder.is_live());
    transaction late = first_.begin();
    const auto before = current().read_counter();
    current().increment_counter(transaction_ref{late}.inside());
    const auto refused = thrown_by([&] { held->verify_in(late); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::lease_lost);
    late.rollback();
    EXPECT_EQ(current().read_counter(), before);
    EXPECT_TRUE(taken->verify());
    EXPECT_TRUE(mutex(heir, other).acquire_for(20s)) << "the other key was never freed";
}

// A paused holder's answers come late: a heartbeat sent before the outage and answered after it
// must not bring its session back, here or in the database.
TEST_F(outage, a_heartbeat_answered_after_the_expiry_revives_nobody) {
    auto patient = impatient(limit);
    patient.statement_timeout = 20s;
    database cut_off = current().open(patient);
    auto settings = brief("holder");
    settings.heartbeat_every = 200ms;
    session holder{cut_off, settings};
    const key name = fresh("k");
    auto held = mutex{holder, name}.try_acquire();
    wait_for_heartbeat(holder);
    control_.pause();
    ASSERT_TRUE(stopped(holder.lost(), 20s));
    const auto expiry = holder.deadline() + *holder.settings().margin;
    EXPECT_TRUE(eventually([&] { return local_clock::now() > expiry + 1s; }));
    control_.resume();
    session heir{second_, calm("heir")};
    EXPECT_TRUE(mutex(heir, name).acquire_for(20s));
    EXPECT_FALSE(is_live_in_database(holder.id()));
    EXPECT_FALSE(holder.is_live());
    EXPECT_FALSE(held->held_locally());
}

// kill -9 to the server in the moment in which it has said "granted".
TEST_F(outage, a_crash_of_the_server_loses_no_grant_and_no_token) {
    const auto log = std::make_shared<event_log>();
    auto settings = impatient(limit);
    settings.observer = log;
    database through = current().open(settings);
    auto lively = calm("holder");
    lively.ttl = 2min;
    lively.heartbeat_every = 500ms;
    session holder{through, lively};
    const key busy = fresh("busy"), name = fresh("k");
    std::int64_t token_before = 0;
    for (int grant = 0; grant < 20; ++grant) {
        auto got = mutex{holder, busy}.try_acquire();
        token_before = token_of(got);
    }
    auto held = mutex{holder, name}.try_acquire();
    control_.kill();
    ASSERT_TRUE(held);
    control_.start();
    EXPECT_TRUE(eventually([&] {
        bool is_held = false;
        return !thrown_by([&] { is_held = held->verify(); }) && is_held;
    }));
    const auto deadline = holder.deadline();
    EXPECT_TRUE(eventually([&] { return holder.deadline() > deadline; }));
    EXPECT_TRUE(holder.is_live());
    EXPECT_GE(log->count(event_kind::reconnected), 1);
    database fresh_one = current().open({});
    const auto seen = describe(fresh_one, name);
    ASSERT_TRUE(seen && seen->is_held);
    EXPECT_EQ(seen->token, held->token());
    session other{fresh_one, calm("other")};
    EXPECT_FALSE(is_granted(mutex(other, name).try_acquire()));
    auto again = mutex{other, busy}.acquire_for(20s);
    ASSERT_TRUE(again);
    EXPECT_GT(again->token().number, token_before);
    EXPECT_EQ(held->release(), release_outcome::released);
    auto next = mutex{other, name}.acquire_for(20s);
    ASSERT_TRUE(next);
    EXPECT_GT(next->token(), held->token());
}

}  // namespace
}  // namespace leasehold::testing
