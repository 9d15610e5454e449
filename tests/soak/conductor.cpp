#include "soak/conductor.hpp"

#include <algorithm>

#include "soak/jobs/hands.hpp"
#include "soak/shares.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

constexpr int operations_per_second_min = 20;

}  // namespace

conductor::conductor(plan given)
    : plan_(std::move(given)),
      history_(plan_.folder, 0),
      page_(signal_page::create(plan_.folder / "signals")),
      tables_(plan_.prefix),
      random_(plan_.seed),
      crew_(crew_settings(), page_, history_) {
    if (plan_.control.empty()) return;
    server_.emplace(plan_.control, plan_.urls.size(), plan_.seed, history_);
}

void conductor::run() {
    const database own = open();
    tables_.create(own);
    wait_for_tables();
    crew_.start_all();
    measure_pace();
    if (operations_per_second_ < operations_per_second_min) {
        end_crew();
        tables_.drop(own);
        throw void_run(
            "void: " + std::to_string(operations_per_second_) +
            " operations per second before the first fault, and " +
            std::to_string(operations_per_second_min) + " are needed"
        );
    }
    inject_until(clock::now() + plan_.length - liveness_timeout);
    drain();
    take_everything();
    finish_jobs();
    const database fresh = open();
    for (const record& each : tables_.content(fresh)) history_.write(each);
    tables_.drop(fresh);
}

crew::settings conductor::crew_settings() const {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return {here / "soak_worker", plan_.folder, plan_.prefix, plan_.urls, plan_.seed, 6, ttl};
}

database conductor::open() const {
    return open_database(plan_.urls.front(), plan_.prefix, time_outs::of_the_conductor);
}

// Another node of a cluster hears of them a little later.
void conductor::wait_for_tables() const {
    for (const std::string& each : plan_.urls) {
        const database there = open_database(each, plan_.prefix, time_outs::of_the_conductor);
        const auto deadline = clock::now() + 20s;
        while (!tables_.are_there(there)) {
            if (clock::now() > deadline) throw std::runtime_error("no tables at " + each);
            nap(20ms);
        }
    }
}

void conductor::watch_until(clock::time_point when) {
    do {
        crew_.look_after();
        if (server_) server_->go_on();
        nap(4ms);
    } while (clock::now() < when);
}

// Faults in a system that does nothing would prove nothing. The best of a few looks, since the
// machine may stand still during one.
void conductor::measure_pace() {
    const auto deadline = clock::now() + 20s;
    while (page_.operations() == 0 && clock::now() < deadline) watch_until(clock::now());
    constexpr int looks = 3;
    for (int each = 0; each < looks; ++each) {
        const auto before = page_.operations().load();
        const auto start = clock::now();
        watch_until(start + 3s);
        const std::chrono::duration<double> took = clock::now() - start;
        const auto done = static_cast<double>(page_.operations().load() - before);
        operations_per_second_ = std::max(operations_per_second_, done / took.count());
        if (operations_per_second_ >= operations_per_second_min) return;
    }
}

milliseconds conductor::between(milliseconds least, milliseconds most) {
    return milliseconds{
        std::uniform_int_distribution<std::int64_t>(least.count(), most.count())(random_)};
}

void conductor::inject_until(clock::time_point end) {
    auto next_worker_fault = clock::now();
    auto next_server_fault = clock::now() + between(1s, 3s);
    while (clock::now() < end) {
        watch_until(std::min({end, next_worker_fault, next_server_fault}));
        if (clock::now() >= next_worker_fault) {
            if (between(1ms, 4ms) == 1ms) {
                crew_.kill_one(random_, counts_);
            } else {
                crew_.pause_one(random_, counts_);
            }
            next_worker_fault = clock::now() + between(300ms, 1100ms);
        }
        if (clock::now() >= next_server_fault) {
            next_server_fault = clock::now() + between(4s, 9s);
            if (server_ && server_->is_up()) hit_server();
        }
    }
}

void conductor::hit_server() {
    const bool is_cluster = plan_.urls.size() > 1;
    if (is_cluster && between(1ms, 2ms) == 1ms) {
        ++counts_.server_held_back;
        server_->hold_back(between(ttl, ttl * 4));
    } else if (plan_.may_kill_servers && (counts_.server_killed == 0 || between(1ms, 3ms) > 1ms)) {
        ++counts_.server_killed;
        server_->kill(between(0ms, 800ms));
    } else {
        ++counts_.server_paused;
        server_->pause(between(ttl / 2, ttl * 2));
    }
}

void conductor::drain() {
    const auto is_going_on = [&] { return crew_.has_paused() || (server_ && !server_->is_up()); };
    while (is_going_on()) watch_until(clock::now());
    record what;
    what.what = operation::drain;
    what.when = phase::note;
    history_.write(what);
    watch_until(clock::now() + liveness_timeout);
    end_crew();
}

void conductor::end_crew() {
    page_.is_over() = true;
    crew_.wait_for_all(20s);
}

// Everything can be had again, whatever happened.
void conductor::take_everything() {
    const database own = open();
    session last{own, {.name = "soak-conductor"}};
    for (int key = 0; key < key_count; ++key) take_key(last, key);
    const auto demand = [](const acquisition& got, int share) {
        if (got) return;
        throw std::runtime_error("C7: " + std::to_string(share) + " cannot be had again, whole");
    };
    for (int each = 0; each < shares_per_kind; ++each) {
        const int shared = share_of(share_kind::shared, each);
        demand(shared_mutex{last, key_of(shared)}.acquire_for(liveness_timeout), shared);
        const int permits = share_of(share_kind::permits, each);
        const auto all = capacity_of(permits);
        semaphore room{last, key_of(permits), all};
        demand(room.acquire_for(liveness_timeout, all), permits);
    }
}

// Does the jobs that no worker has done by now, the last of them with the sessions of the dead.
void conductor::finish_jobs() {
    job_hands::settings chosen;
    chosen.seed = plan_.seed;
    chosen.folder = plan_.folder;
    chosen.prefix = plan_.prefix;
    database own = open_database(plan_.urls.front(), plan_.prefix, time_outs::of_the_conductor, 10);
    job_hands{std::move(chosen), std::move(own)}.finish(60s);
}

void conductor::take_key(session& last, int key) {
    record what;
    what.id = history_.next_id();
    what.what = operation::acquire;
    what.when = phase::invoke;
    what.key = key;
    history_.write(what);
    auto got = mutex{last, key_of(key)}.acquire_for(liveness_timeout);
    if (!got) {
        throw std::runtime_error("C7: key " + std::to_string(key) + " cannot be had again");
    }
    what.when = phase::ok;
    what.token = got->token().number;
    what.until_ns = got->deadline().time_since_epoch().count();
    history_.write(what);
    what.what = operation::release;
    what.grant = what.id;
    what.id = history_.next_id();
    what.when = phase::invoke;
    history_.write(what);
    got->release();
}

}  // namespace leasehold::soak
