// A process of its own that does jobs, for job_process_test.cpp to kill.
//
//   job_holder URL PREFIX QUEUE TTL_MS claim     claims all there are, by one thread, and stays in
//                                                its first handler: "started ID"
//   job_holder URL PREFIX QUEUE TTL_MS effect    stays behind the effect: "written ID"
//   job_holder URL PREFIX QUEUE TTL_MS complete  stays behind complete_in(tx): "completed ID"
//   job_holder URL PREFIX QUEUE TTL_MS commit    does all there are: "commits ID" just before each
//                                                commit
//
// The effect of a job is one of the queue QUEUE/effects with the same payload.
#include <cstdio>
#include <iostream>
#include <string>

#include "fault/where.hpp"
#include "leasehold/error.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"
#include "support/eventually.hpp"

namespace {

using namespace std::chrono_literals;

void say(const char* word, const leasehold::job& about) {
    std::cout << word << ' ' << about.id() << std::endl;  // the other side waits for it
}

void stay(const leasehold::job& in) {
    leasehold::testing::stopped(in.stop(), 10min);
}

void handle(leasehold::job& mine, const leasehold::database& db, std::string_view mode) {
    if (mode == "claim") {
        say("started", mine);
        return stay(mine);
    }
    leasehold::transaction tx = db.begin();
    leasehold::job_queue{db, mine.queue() + "/effects"}.enqueue_in(tx, {.payload = mine.payload()});
    if (mode == "effect") {
        say("written", mine);
        return stay(mine);
    }
    mine.complete_in(tx);
    if (mode == "complete") {
        say("completed", mine);
        return stay(mine);
    }
    say("commits", mine);
    tx.commit();
}

void run(
    const leasehold::database& db, const std::string& queue, int ttl_ms, std::string_view mode
) {
    leasehold::session_settings settings{.name = "holder"};
    settings.ttl = std::chrono::milliseconds{ttl_ms};
    leasehold::session mine{db, settings};
    leasehold::worker_settings by;
    by.queues = {queue};
    by.concurrency = mode == "commit" ? 2 : 1;
    by.prefetch = 10;
    by.poll_every = 50ms;
    leasehold::worker does{mine, by};
    does.handle_all([&](leasehold::job& each) { handle(each, db, mode); });
    does.run();
}

}  // namespace

int main(int count, char** arguments) {
    constexpr int arguments_count = 6;
    if (count != arguments_count) return 64;
    try {
        leasehold::database_settings settings;
        settings.names.prefix = arguments[2];
        const auto db = leasehold::testing::open_at(arguments[1], settings);
        run(db, arguments[3], std::stoi(arguments[4]), arguments[5]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "job_holder: %s\n", failure.what());
        return 1;
    }
    return 0;
}
