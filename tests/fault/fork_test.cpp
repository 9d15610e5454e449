// A process that a fork has made: the handles open at that moment belong to the parent. And objects
// that live until the process has ended. On every engine that processes can share.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>

#include "conformance/suite.hpp"
#include "fault/child.hpp"
#include "fault/where.hpp"
#include "leasehold/leasehold.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

constexpr int cannot_end = -1;

// Returns the exit status of a child that runs `body`: the answer of `body`.
int in_fork(const std::function<int()>& body) {
    const pid_t forked = ::fork();
    if (forked == 0) {
        int status = 99;
        try {
            status = body();
        } catch (...) {
        }
        ::_exit(status);
    }
    int status = 0;
    if (!eventually([&] { return ::waitpid(forked, &status, WNOHANG) == forked; }, 30s)) {
        ::kill(forked, SIGKILL);
        ::waitpid(forked, &status, 0);
        return cannot_end;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : cannot_end;
}

// The number of the first that is false, counted from 1, or 0.
int first_false(std::initializer_list<bool> all) {
    int number = 0;
    for (const bool each : all) {
        ++number;
        if (!each) return number;
    }
    return 0;
}

bool throws(errc what, const std::function<void()>& run) {
    const auto failure = thrown_by(run);
    return failure && failure->code() == what;
}

class fork_fault : public suite {
protected:
    // The parent's heartbeat, connections and key go on as if nothing had been.
    void expect_unharmed(lease& held) {
        const auto deadline = parent_.deadline();
        EXPECT_TRUE(eventually([&] { return parent_.deadline() > deadline; }, 60s));
        EXPECT_TRUE(parent_.is_live());
        EXPECT_TRUE(held.verify());
        transaction tx = first_.begin();
        held.verify_in(tx);
        tx.commit();
        session other{second_, calm("other")};
        EXPECT_FALSE(is_granted(mutex(other, name_).try_acquire()));
        EXPECT_EQ(held.release(), release_outcome::released);
        EXPECT_TRUE(mutex(other, name_).try_acquire());
    }

    const std::string name_ = fresh("forked");
    session parent_{first_, alert("parent")};
};

TEST_F(fork_fault, a_child_is_told_at_once_that_it_holds_nothing) {
    mutex gate{parent_, name_};
    auto held = gate.try_acquire();
    ASSERT_TRUE(held);
    const auto status = in_fork([&] {
        return first_false(
            {held->lost().stop_requested(),
             held->why_lost() == loss_reason::other_process,
             !held->held_locally(),
             !held->verify(),
             held->deadline() <= local_clock::now(),
             parent_.lost().stop_requested(),
             !parent_.is_live(),
             parent_.why_lost() == loss_reason::other_process,
             held->release() == release_outcome::not_held}
        );
    });
    EXPECT_EQ(status, 0) << "the number of what is not so";
    expect_unharmed(*held);
}

TEST_F(fork_fault, calls_of_a_child_are_refused_and_send_nothing) {
    mutex gate{parent_, name_};
    auto held = gate.try_acquire();
    ASSERT_TRUE(held);
    transaction open = first_.begin();
    worker works{parent_, {.queues = {name_}}};
    works.handle_all([](job&) {});
    const auto status = in_fork([&] {
        return first_false(
            {throws(errc::session_lost, [&] { static_cast<void>(gate.try_acquire()); }),
             throws(errc::session_lost, [&] { static_cast<void>(gate.acquire_for(1s)); }),
             throws(
                 errc::session_lost,
                 [&] { static_cast<void>(semaphore(parent_, name_, 1).try_acquire()); }
             ),
             throws(errc::unsupported, [&] { held->verify_in(open); }),
             throws(errc::unsupported, [&] { open.execute("SELECT 1"); }),
             throws(errc::unsupported, [&] { open.commit(); }),
             throws(errc::unsupported, [&] { (void)first_.begin(); }),
             throws(errc::unsupported, [&] { list_sessions(first_); }),
             throws(errc::unsupported, [&] { (void)session(first_, calm("child")); }),
             throws(errc::session_lost, [&] { works.run(); })}
        );
    });
    EXPECT_EQ(status, 0) << "the number of what is not so";
    EXPECT_NO_THROW(open.execute("SELECT 1"));
    open.commit();
    expect_unharmed(*held);
}

// Throws that this process has no right to it.
bool is_refused(const std::function<void()>& run) {
    return throws(errc::session_lost, run) || throws(errc::unsupported, run);
}

TEST_F(fork_fault, every_kind_of_object_is_the_parents_alone) {
    const auto of = [&](const char* kind) { return name_ + kind; };
    session other{second_, calm("other")};
    auto blocks = mutex{other, name_}.try_acquire();
    auto both = multi_lock{parent_, {of("/a"), of("/b")}}.try_acquire();
    auto place = latch{parent_, of("/latch"), 1}.try_join();
    leader_election election{parent_, of("/leader")};
    auto leads = election.try_campaign();
    leader_watch watch{first_, of("/leader")};
    ASSERT_TRUE(watch.next_for(10s));
    barrier meeting{parent_, of("/barrier"), 2};
    once task{parent_, of("/task"), schedule::every(1h)};
    auto run = task.try_start();
    const fence_guard guard{first_};
    const job_queue jobs{first_, name_};
    quorum servers{{first_}};
    quorum_lock most_of{servers, of("/quorum")};
    auto most = most_of.try_acquire();
    pending_acquisition pending{std::nullopt, of("/pending")};
    {
        transaction tx = first_.begin();
        pending = mutex{parent_, of("/pending")}.try_acquire_in(tx);
        tx.commit();
    }
    std::atomic<bool> is_told = false, got_it = false;
    mutex{parent_, name_}.acquire_async({}, [&](std::exception_ptr, acquisition got) {
        got_it = got.has_value();
        is_told = true;
    });
    ASSERT_TRUE(blocks && both && place && leads && run && most && pending);
    const auto status = in_fork([&] {
        return first_false(
            {both->lost().stop_requested() && !both->verify(),
             both->release() == release_outcome::not_held,
             place->lost().stop_requested() && !place->verify(),
             leads->lost().stop_requested(),
             is_refused([&] { static_cast<void>(election.try_campaign()); }),
             is_refused([&] { watch.next_for(1s); }),
             is_refused([&] { (void)meeting.arrive_and_wait_for(1s); }),
             is_refused([&] { static_cast<void>(task.try_start()); }),
             run->lease().lost().stop_requested(),
             is_refused([&] { list_runs(first_); }),
             is_refused([&] { static_cast<void>(guard.highest(of("/guarded"))); }),
             is_refused([&] { jobs.enqueue({}); }),
             !most->held_locally() && most->lost().stop_requested(),
             is_refused([&] { static_cast<void>(most_of.try_acquire()); }),
             is_refused([&] { (void)pending->confirm(); }),
             !is_told}
        );
    });
    EXPECT_EQ(status, 0) << "the number of what is not so";
    EXPECT_TRUE(both->verify() && place->verify() && run->lease().verify() && most->verify());
    EXPECT_FALSE(leads->lost().stop_requested());
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    EXPECT_TRUE(pending->confirm());
    EXPECT_FALSE(is_told);
    EXPECT_EQ(blocks->release(), release_outcome::released);
    EXPECT_TRUE(eventually([&] { return is_told.load(); }));
    EXPECT_TRUE(got_it);
}

// As when a child returns from the function that it was forked in.
TEST_F(fork_fault, objects_that_end_in_a_child_take_nothing_with_them) {
    auto handle = std::make_unique<database>(open());
    auto second = std::make_unique<session>(*handle, alert("second"));
    auto got = mutex{*second, name_}.try_acquire();
    ASSERT_TRUE(got);
    auto held = std::make_unique<lease>(std::move(*got));
    auto waits = std::make_unique<transaction>(handle->begin());
    const auto status = in_fork([&] {
        waits.reset();
        held->release();
        held.reset();
        second.reset();
        handle.reset();
        return 0;
    });
    EXPECT_EQ(status, 0);
    EXPECT_NO_THROW(waits->execute("SELECT 1"));
    waits->commit();
    const auto deadline = second->deadline();
    EXPECT_TRUE(eventually([&] { return second->deadline() > deadline; }, 60s));
    EXPECT_TRUE(held->verify());
    EXPECT_FALSE(is_granted(mutex(parent_, name_).try_acquire()));
}

TEST_F(fork_fault, a_child_that_opens_the_database_itself_takes_part) {
    mutex gate{parent_, name_};
    auto held = gate.try_acquire();
    ASSERT_TRUE(held);
    database_settings settings;
    settings.names = first_.settings().names;
    const std::string url = url_of(current().name, first_), theirs = fresh("the child's");
    const auto status = in_fork([&] {
        const database own = open_at(url, settings);
        session here{own, calm("child")};
        auto got = mutex{here, theirs}.try_acquire();
        return first_false(
            {got.has_value(),
             got->verify(),
             !is_granted(mutex(here, name_).try_acquire()),
             got->release() == release_outcome::released}
        );
    });
    EXPECT_EQ(status, 0) << "the number of what is not so";
    expect_unharmed(*held);
}

// Namespace-scope objects, one heartbeat later: their end comes behind that of what libraries keep
// for the process.
class static_fault : public suite {
protected:
    std::vector<std::string> command() {
        return {
            beside_this_program("fault_static_holder_" + current().name),
            program_url_of(current().name, first_),
            first_.settings().names.prefix,
            name_};
    }
    // Answers once it has held the key for a heartbeat.
    void end_by(const char* way) {
        child holder{command()};
        ASSERT_EQ(holder.line(90s), "held") << way;
        holder.say(way);
        EXPECT_EQ(holder.ended(), 0) << way;
    }
    void expect_all_given_back(const std::string& way) {
        // The end of a process cuts off the call that waits for this key, unless the program waits
        // for that call, as "return" does. The server may still run the statement of such a call,
        // and a try that meets its rows is refused at once. A ttl is longer than this wait.
        EXPECT_TRUE((mutex{heir_, name_}.acquire_for(way == "return" ? 0s : 20s))) << way;
        EXPECT_TRUE((shared_mutex{heir_, name_ + "/shared"}.try_acquire())) << way;
        EXPECT_TRUE((semaphore{heir_, name_ + "/permits", 2}.try_acquire(2))) << way;
        EXPECT_TRUE((latch{heir_, name_ + "/latch", 1}.try_join())) << way;
        EXPECT_TRUE((multi_lock{heir_, {name_ + "/both", name_ + "/b"}}.try_acquire())) << way;
        for (const char* each : {"/leader", "/pending", "/quorum", "/task"}) {
            EXPECT_TRUE((mutex{heir_, name_ + each}.try_acquire())) << way << each;
        }
        // The row of one that had a pending lease stays until it is cleaned up.
        const auto left = list_sessions(second_);
        EXPECT_EQ(std::ranges::count_if(left, &session_info::is_live), 1)
            << way << ": the heir's alone";
    }

    const std::string name_ = fresh("static");
    session heir_{second_, calm("heir")};
};

TEST_F(static_fault, objects_of_static_duration_give_back_what_they_have) {
    for (const char* way : {"return", "exit", "exit elsewhere"}) {
        end_by(way);
        expect_all_given_back(way);
    }
}

TEST_F(static_fault, a_library_may_be_unloaded_with_the_objects_that_it_has) {
    auto arguments = command();
    arguments.front() = beside_this_program("libfault_static_library_" + current().name + ".so");
    arguments.insert(arguments.begin(), beside_this_program("fault_unloader"));
    child holder{arguments};
    ASSERT_EQ(holder.line(90s), "held");
    holder.say("return");
    // A library stays while a thread has an object in it that ends with the thread, as each thread
    // has that is announced to MySQL's client library. The objects then end with the process.
    const bool stays = current().name == "mysql" || current().name == "mariadb";
    EXPECT_EQ(holder.line(90s), stays ? "still loaded" : "unloaded");
    if (!stays) expect_all_given_back("unloaded");
    holder.say("end");
    EXPECT_EQ(holder.ended(), 0);
    if (stays) expect_all_given_back("ended");
}

TEST_F(static_fault, a_process_may_end_without_destroying_anything) {
    end_by("quick_exit");
    const auto left = describe(second_, name_);
    ASSERT_TRUE(left && left->session) << "nobody gave it back";
    current().age_session(*left->session, 2h);
    EXPECT_TRUE((mutex{heir_, name_}.acquire_for(20s))) << "it is free when its ttl is over";
}

TEST_F(static_fault, a_fork_that_destroys_static_objects_takes_nothing_with_it) {
    child holder{command()};
    ASSERT_EQ(holder.line(90s), "held");
    holder.say("fork");
    EXPECT_EQ(holder.line(), "child ended 0, proved");
    EXPECT_FALSE(is_granted(mutex{heir_, name_}.try_acquire()));
    holder.say("return");
    EXPECT_EQ(holder.ended(), 0);
    EXPECT_TRUE((mutex{heir_, name_}.try_acquire()));
}

}  // namespace
}  // namespace leasehold::testing
