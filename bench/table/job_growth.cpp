#include "bench/table/job_growth.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "bench/histogram.hpp"
#include "bench/print.hpp"
#include "bench/report.hpp"
#include "bench/room.hpp"
#include "bench/texts.hpp"
#include "bench/workload.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/session.hpp"
#include "leasehold/worker.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;

constexpr const char* queue_name = "bench";
constexpr const char* kind_name = "work";

std::string shown_in_microseconds(std::chrono::nanoseconds length) {
    return shown_time(static_cast<double>(length.count()) / 1000);
}

worker_settings settings_for(int threads, int prefetch) {
    worker_settings made;
    made.queues = {queue_name};
    made.concurrency = threads;
    made.prefetch = prefetch;
    return made;
}

// Tables of its own, with a queue that is kept as long as it is to be.
class filled_queue {
public:
    filled_queue(const std::string& url, std::int64_t queued, std::int64_t ended)
        : room_(url, ""),
          database_(room_.where().open(4, std::chrono::minutes{10})),
          session_(database_, {.name = "bench"}),
          queued_(queued) {
        add("fill_own_history", ended);
        fill_up();
    }
    ~filled_queue() {
        session_.end();
        room_.remove();
    }
    filled_queue(const filled_queue&) = delete;
    filled_queue& operator=(const filled_queue&) = delete;

    std::int64_t queued() const noexcept { return queued_; }
    void fill_up() {
        add("fill_own_jobs", queued_ - left_);
        left_ = queued_;
        database_.execute(text("settle_own_jobs"));
    }

    // Measures how long one thread takes that claims the next job when it has ended one.
    void claim_one_by_one(histogram& took) {
        const std::int64_t most = std::min<std::int64_t>(queued_ / 4, 1'000);
        clock::time_point ended{};
        run(settings_for(1, 0), most, [&](std::int64_t number) {
            if (number > 1) took.add(clock::now() - ended);
            ended = clock::now();
        });
    }
    // Drains in batches of a hundred, and returns jobs per second.
    double drain() {
        const std::int64_t most = std::min<std::int64_t>(queued_ / 2, 20'000);
        clock::time_point first{}, last{};
        std::mutex mutex;
        run(settings_for(4, 96), most, [&](std::int64_t number) {
            if (number != 1 && number != most) return;
            const std::lock_guard guard{mutex};
            (number == 1 ? first : last) = clock::now();
        });
        const std::chrono::duration<double> took = last - first;
        return static_cast<double>(most) / took.count();
    }

private:
    std::string text(const char* name) const {
        return text_of(database_.server().engine, name, room_.where().names);
    }
    void add(const char* name, std::int64_t count) const {
        constexpr std::int64_t at_once = 200'000;
        const bool is_history = std::string_view{name} == "fill_own_history";
        for (std::int64_t made = 0; made < count; made += at_once) {
            parameters values{std::min(at_once, count - made)};
            if (is_history) values.emplace_back(made);
            database_.execute(text(name), values);
        }
    }
    // Until `most` jobs have begun, of which each is told its number, from 1.
    template <class Told>
    void run(const worker_settings& settings, std::int64_t most, Told&& told) {
        std::atomic<std::int64_t> begun = 0;
        std::stop_source stop;
        leasehold::worker worker{session_, settings};
        worker.handle(kind_name, [&](job&) {
            const std::int64_t number = ++begun;
            if (number <= most) told(number);
            if (number == most) stop.request_stop();
        });
        const auto report = worker.run(stop.get_token());
        left_ -= report.completed;
    }

    room room_;
    const database database_;
    session session_;
    const std::int64_t queued_;
    std::int64_t left_ = 0;
};

struct measured {
    std::unique_ptr<filled_queue> queue;
    histogram took{};
    std::vector<double> rates{};
};

}  // namespace

void measure_flat(const std::string& url, const flat_settings& settings) {
    std::vector<measured> all;
    for (const std::int64_t each : settings.queued) {
        all.push_back({std::make_unique<filled_queue>(url, each, settings.ended)});
    }
    for (int round = 0; round <= settings.rounds; ++round) {
        for (measured& each : all) {
            histogram ignored;  // the first round warms up
            each.queue->claim_one_by_one(round == 0 ? ignored : each.took);
            const double rate = each.queue->drain();
            if (round > 0) each.rates.push_back(rate);
            each.queue->fill_up();
        }
    }
    for (const measured& each : all) {
        const spread rate = spread_of(each.rates);
        std::cout << shown_number(static_cast<double>(each.queue->queued())) << " queued, "
                  << shown_number(static_cast<double>(settings.ended)) << " ended: drains "
                  << shown_number(rate.median) << "/s (" << shown_number(rate.min) << " to "
                  << shown_number(rate.max) << "); one by one p50 "
                  << shown_in_microseconds(each.took.at(0.5)) << ", p99 "
                  << shown_in_microseconds(each.took.at(0.99)) << std::endl;
    }
}

namespace {

// Measures how long one thread takes that claims the next job when it has ended one, at a steady
// rate.
class steady_worker {
public:
    steady_worker(const place& where, std::chrono::nanoseconds every)
        : database_(where.open(2, std::chrono::minutes{1})),
          session_(database_, {.name = "bench"}),
          worker_(session_, settings_for(1, 0)),
          every_(every) {
        worker_.handle(kind_name, [this](job&) { work(); });
        thread_ = std::jthread{[this](const std::stop_token& stop) {
            try {
                worker_.run(stop);
            } catch (...) {
                const std::lock_guard guard{mutex_};
                failure_ = std::current_exception();
            }
        }};
    }

    // The times since the last call.
    histogram take() {
        const std::lock_guard guard{mutex_};
        if (failure_) std::rethrow_exception(failure_);
        return std::exchange(took_, {});
    }

private:
    void work() {
        {
            const std::lock_guard guard{mutex_};
            if (ended_ != clock::time_point{}) took_.add(clock::now() - ended_);
        }
        next_ = std::max(next_ + every_, clock::now() - std::chrono::seconds{1});
        std::this_thread::sleep_until(next_);
        ended_ = clock::now();
    }

    const database database_;
    session session_;
    leasehold::worker worker_;
    const std::chrono::nanoseconds every_;
    std::mutex mutex_;
    histogram took_;
    std::exception_ptr failure_;
    clock::time_point next_{}, ended_{};  // the handler's alone
    std::jthread thread_;
};

// Workers that do so many jobs per second together, while as many are enqueued, behind a thousand
// that wait.
class steady_queue {
public:
    steady_queue(const place& where, const held_settings& settings)
        : database_(where.open(2, std::chrono::minutes{1})), queue_(database_, queue_name) {
        queue_.enqueue_many(std::vector<new_job>(1'000, one_job()));
        constexpr int workers = 4;
        const std::chrono::nanoseconds second = std::chrono::seconds{1};
        for (int each = 0; each < workers; ++each) {
            workers_.push_back(
                std::make_unique<steady_worker>(where, workers * second / settings.jobs_per_second)
            );
        }
        enqueuing_ = std::jthread{[this, settings](const std::stop_token& stop) {
            enqueue(settings.jobs_per_second, stop);
        }};
    }

    histogram take() {
        histogram all;
        for (const auto& each : workers_) all.add(each->take());
        return all;
    }
    std::int64_t left() const {
        const auto seen = queue_.describe();
        const auto found = seen.jobs.find(job_state::available);
        return found == seen.jobs.end() ? 0 : found->second;
    }

private:
    static new_job one_job() {
        new_job made;
        made.kind = kind_name;
        made.payload = job_payload(1);
        return made;
    }
    void enqueue(int per_second, const std::stop_token& stop) const {
        constexpr milliseconds pause{20};
        const auto count = static_cast<std::size_t>(per_second * pause / std::chrono::seconds{1});
        const std::vector<new_job> some(count, one_job());
        for (auto when = clock::now(); !stop.stop_requested(); when += pause) {
            std::this_thread::sleep_until(when);
            queue_.enqueue_many(some);
        }
    }

    const database database_;
    const job_queue queue_;
    std::vector<std::unique_ptr<steady_worker>> workers_;
    std::jthread enqueuing_;
};

// A transaction whose snapshot is older than all that is done from then on.
class old_snapshot {
public:
    explicit old_snapshot(const place& where)
        : database_(where.open(1, std::chrono::minutes{1})), inside_(begun()) {
        look();
    }
    ~old_snapshot() {
        try {
            inside_.rollback();
        } catch (const std::exception&) {  // the server has ended it
        }
    }
    old_snapshot(const old_snapshot&) = delete;
    old_snapshot& operator=(const old_snapshot&) = delete;
    // Otherwise the server ends the idle connection.
    void look() { inside_.execute("SELECT 1"); }

private:
    transaction begun() {
        const bool is_postgres = database_.server().engine == engine::postgres;
        if (!is_postgres) {
            database_.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        }
        transaction made = database_.begin();
        if (is_postgres) made.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        return made;
    }

    const database database_;
    transaction inside_;
};

}  // namespace

void measure_held(const std::string& url, const held_settings& settings) {
    room in{url, ""};
    {
        steady_queue steady{in.where(), settings};
        std::this_thread::sleep_for(std::chrono::seconds{5});
        steady.take();
        const auto print = [&](const std::string& when, const histogram& took) {
            std::cout << when << ": end and claim p50 " << shown_in_microseconds(took.at(0.5))
                      << ", p99 " << shown_in_microseconds(took.at(0.99)) << ", " << steady.left()
                      << " wait" << std::endl;
        };
        constexpr int parts = 10;
        const auto part = settings.length / parts;
        std::this_thread::sleep_for(part);
        print("without a snapshot", steady.take());
        {
            old_snapshot held{in.where()};
            for (int each = 1; each <= parts; ++each) {
                for (auto left = part; left.count() > 0; left -= std::chrono::seconds{1}) {
                    std::this_thread::sleep_for(std::chrono::seconds{1});
                    held.look();
                }
                print("held for " + std::to_string((each * part).count()) + " s", steady.take());
            }
        }
        std::this_thread::sleep_for(part);
        print("after it", steady.take());
    }
    in.remove();
}

}  // namespace leasehold::bench
