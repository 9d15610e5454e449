// Everything at namespace scope, for fork_test.cpp; a program, and a library for unloader.cpp:
//
//   static_holder URL PREFIX KEY   takes KEY, and by other kinds of lock KEY/shared, KEY/permits,
//                                  KEY/both, KEY/leader, KEY/latch, KEY/pending, KEY/quorum and,
//                                  by lockables, KEY/locked and KEY/locked shared;
//                                  runs the task KEY/task, works on the queue KEY, and watches
//                                  KEY/leader. Says "held" after the next heartbeat, and then
//                                  obeys: "return", "exit", "exit elsewhere" (than in the main
//                                  thread) and "quick_exit", with an open transaction; "fork": says
//                                  how a child that calls exit() ended, and whether the key is
//                                  still held
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "fault/where.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"

namespace {

std::unique_ptr<leasehold::database> db;
std::unique_ptr<leasehold::session> holder;
std::unique_ptr<leasehold::mutex> gate;
std::optional<leasehold::lease> held;

std::optional<leasehold::lease> shared, permits, place;
std::optional<leasehold::multi_lease> both;
std::optional<leasehold::leadership> leading;
std::unique_ptr<leasehold::leader_watch> watch;
std::unique_ptr<leasehold::barrier> meeting;
std::unique_ptr<leasehold::once> task;
std::optional<leasehold::task_run> run;
std::optional<leasehold::pending_lease> pending;
std::unique_ptr<leasehold::quorum> servers;
std::optional<leasehold::quorum_lease> most;
std::unique_ptr<leasehold::job_queue> jobs;
std::unique_ptr<leasehold::fence_guard> guard;
std::unique_ptr<leasehold::lockable_mutex> locked;
std::unique_ptr<leasehold::lockable_shared_mutex> locked_shared;
std::unique_ptr<leasehold::stop_when> enough;

// A call that waits without a thread. A program may not unload the code of a completion that still
// runs, and session::end() does not wait for one. So "return" cancels the call and waits for it;
// the other ways leave it to the library.
struct waiting_call {
    std::stop_source cancel{};
    std::promise<void> is_over{};
};
const auto waiting = std::make_shared<waiting_call>();

// A program's own thread ends with it, in the process that has it.
struct crew {
    leasehold::worker works;
    std::stop_source over{};
    std::thread thread{[this] { works.run(over.get_token()); }};
    const pid_t home = ::getpid();

    ~crew() {
        if (home == ::getpid()) {
            over.request_stop();
            thread.join();
        } else {
            thread.detach();
        }
    }
};
std::unique_ptr<crew> workers;
// Ends before all others, which on SQLite could not write beside it.
std::optional<leasehold::transaction> unended;

void take_all(const std::string& key) {
    using namespace leasehold;
    using namespace std::chrono_literals;
    held.emplace(*gate->acquire());
    shared.emplace(*shared_mutex{*holder, key + "/shared"}.acquire_shared());
    permits.emplace(*semaphore{*holder, key + "/permits", 2}.try_acquire(2));
    place.emplace(*latch{*holder, key + "/latch", 1}.try_join());
    both.emplace(*multi_lock{*holder, {key + "/both", key + "/b"}}.acquire());
    leading.emplace(*leader_election{*holder, key + "/leader"}.campaign());
    watch = std::make_unique<leader_watch>(*db, key + "/leader");
    meeting = std::make_unique<barrier>(*holder, key + "/barrier", 2);
    static_cast<void>(meeting->arrive_and_wait_for(1ms));
    task = std::make_unique<once>(*holder, key + "/task", schedule::every(1h));
    run.emplace(*task->try_start());
    {
        transaction tx = db->begin();
        pending.emplace(*mutex{*holder, key + "/pending"}.try_acquire_in(tx));
        tx.commit();
    }
    servers = std::make_unique<quorum>(std::vector<database>{*db});
    most.emplace(*quorum_lock{*servers, key + "/quorum"}.try_acquire());
    jobs = std::make_unique<job_queue>(*db, key + "/jobs");
    guard = std::make_unique<fence_guard>(*db);
    static_cast<void>(guard->highest(key));
    locked = std::make_unique<lockable_mutex>(*holder, key + "/locked");
    locked->lock();
    locked_shared = std::make_unique<lockable_shared_mutex>(*holder, key + "/locked shared");
    locked_shared->lock_shared();
    enough = std::make_unique<stop_when>(*held);
    async_wait patiently{.cancel = waiting->cancel.get_token()};
    gate->acquire_async(
        std::move(patiently),
        [call = waiting](std::exception_ptr, acquisition got) {
            if (got) got->release();
            call->is_over.set_value();
        }
    );
    worker on_queue{*db, {.queues = {key}}, {.name = "static worker"}};
    on_queue.handle("any", [](job&) {});
    workers.reset(new crew{std::move(on_queue)});
}

void say(const std::string& line) {
    std::cout << line << std::endl;  // the other side waits for it
}

bool is_proved() {
    leasehold::transaction tx = db->begin();
    held->verify_in(tx);
    tx.commit();
    return held->verify();
}

// The parent still owns what the child leaves: that is no leak.
bool is_forked_child = false;

void fork_and_tell() {
    const pid_t forked = ::fork();
    is_forked_child = forked == 0;
    if (is_forked_child) std::exit(0);  // NOLINT(concurrency-mt-unsafe)
    int status = -1;
    ::waitpid(forked, &status, 0);
    say("child ended " + std::to_string(status) + (is_proved() ? ", proved" : ", lost"));
}

int obey() {
    for (std::string command; std::getline(std::cin, command);) {
        if (command != "fork") unended.emplace(db->begin());
        if (command == "return") {
            waiting->cancel.request_stop();
            waiting->is_over.get_future().wait();
            return 0;
        }
        if (command == "exit") std::exit(0);              // NOLINT(concurrency-mt-unsafe)
        if (command == "quick_exit") std::quick_exit(0);  // NOLINT(concurrency-mt-unsafe)
        if (command == "exit elsewhere") {
            std::thread{[] { std::exit(0); }}.join();  // NOLINT(concurrency-mt-unsafe)
        }
        if (command == "fork") fork_and_tell();
    }
    return 1;
}

}  // namespace

// The leak sanitizer asks this, if it is there.
extern "C" int __lsan_is_turned_off() {  // NOLINT(bugprone-reserved-identifier)
    return is_forked_child ? 1 : 0;
}

extern "C" int hold_in_statics(int count, char** arguments) {
    using namespace std::chrono_literals;
    constexpr int arguments_count = 4;
    if (count != arguments_count) return 64;
    leasehold::database_settings settings;
    settings.names.prefix = arguments[2];
    db = std::make_unique<leasehold::database>(leasehold::testing::open_at(arguments[1], settings));
    leasehold::session_settings quick{.name = "static"};
    quick.ttl = 60s;  // a machine may stand still for a while
    quick.heartbeat_every = 500ms;
    holder = std::make_unique<leasehold::session>(*db, quick);
    gate = std::make_unique<leasehold::mutex>(*holder, arguments[3]);
    take_all(arguments[3]);
    const auto first = holder->deadline();
    if (!leasehold::testing::eventually([&] { return holder->deadline() > first; }, 60s)) return 1;
    say("held");
    return obey();
}

int main(int count, char** arguments) {
    return hold_in_statics(count, arguments);
}
