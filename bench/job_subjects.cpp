// leasehold's side of the workloads of jobs, by its public interface.
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

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

// The queue that all workers of a side have.
class bench_queue {
public:
    explicit bench_queue(const place& where)
        : place_(where),
          database_(where.open(1, std::chrono::minutes{1})),
          queue_(database_, queue_name) {}

    void empty() const { own("empty_own_jobs"); }
    void fill(int count) const {
        empty();
        constexpr int at_once = 20'000;
        for (int made = 0; made < count; made += at_once) {
            queue_.enqueue_many(jobs(std::min(at_once, count - made)));
        }
        own("settle_own_jobs");
    }
    static std::vector<new_job> jobs(int count) {
        std::vector<new_job> all;
        all.reserve(static_cast<std::size_t>(count));
        for (int each = 0; each < count; ++each) {
            new_job made;
            made.kind = kind_name;
            made.payload = job_payload(each);
            all.push_back(std::move(made));
        }
        return all;
    }

private:
    void own(const char* name) const {
        database_.execute(text_of(database_.server().engine, name, place_.names));
    }

    const place place_;
    const database database_;
    const job_queue queue_;
};

database opened(const place& where) {
    return where.open(where.max_connections, database_settings{}.statement_timeout);
}

// A worker of four threads, or fewer where batches are smaller; it claims as many as a batch.
worker_settings settings_for(int batch) {
    worker_settings made;
    made.queues = {queue_name};
    made.concurrency = std::min(batch, made.concurrency);
    made.prefetch = batch - made.concurrency;
    made.batches_ends = batch > 1;
    made.stop_when_idle = true;
    return made;
}

// Its handlers do nothing. A job counts when its handler ends; so does one of the floor, of which
// the last batch is not ended either.
class drain_worker final : public worker {
public:
    drain_worker(const place& where, int batch)
        : database_(opened(where)),
          session_(database_, {.name = "bench"}),
          batch_(batch),
          worker_(session_, settings_for(batch)) {
        worker_.handle(kind_name, [this](job&) { count(); });
    }

    // Until the queue is empty, or `stop` asks; it begins with the first operation of a round.
    sample operate(const std::stop_token& stop) override {
        if (is_drained_) return {.is_over = true};
        if (!is_running_) begin(stop);
        std::unique_lock guard{mutex_};
        changed_.wait(guard, [&] { return is_ended_ || handled_ - taken_ >= batch_; });
        const std::int64_t items = std::min<std::int64_t>(handled_ - taken_, batch_);
        taken_ += items;
        if (items > 0) return {.items = items};
        guard.unlock();
        end();
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        is_drained_ = !stop.stop_requested();
        return {.is_over = true};
    }
    void before_round() {
        end();
        is_drained_ = false;
    }

private:
    void count() {
        if (++handled_ % batch_ != 0) return;
        const std::lock_guard guard{mutex_};
        changed_.notify_all();
    }
    void begin(const std::stop_token& stop) {
        end();
        handled_ = taken_ = 0;
        is_ended_ = false;
        is_running_ = true;
        thread_ = std::jthread{[this, stop] {
            try {
                worker_.run(stop);
            } catch (...) {
                failure_ = std::current_exception();
            }
            const std::lock_guard guard{mutex_};
            is_ended_ = true;
            changed_.notify_all();
        }};
    }
    // The round's stop has been asked, or the queue is empty.
    void end() {
        if (thread_.joinable()) thread_.join();
        is_running_ = false;
    }

    const database database_;
    session session_;
    const std::int64_t batch_;
    leasehold::worker worker_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<std::int64_t> handled_ = 0;
    std::int64_t taken_ = 0;
    bool is_ended_ = false;
    bool is_running_ = false;
    bool is_drained_ = false;
    std::exception_ptr failure_;
    std::jthread thread_;
};

class drains final : public side {
public:
    drains(const place& where, int batch) : place_(where), queue_(where), batch_(batch) {}

    std::unique_ptr<worker> make_worker(int) override {
        auto made = std::make_unique<drain_worker>(place_, batch_);
        workers_.push_back(made.get());
        return made;
    }
    void before_round() override {
        for (drain_worker* const each : workers_) each->before_round();
        queue_.fill(jobs_to_drain(batch_));
    }

private:
    const place place_;
    const bench_queue queue_;
    const int batch_;
    std::vector<drain_worker*> workers_;
};

class enqueue_worker final : public worker {
public:
    enqueue_worker(const database& where, int batch)
        : queue_(where, queue_name), jobs_(bench_queue::jobs(batch)) {}

    sample operate(const std::stop_token&) override {
        return {.items = std::ssize(queue_.enqueue_many(jobs_))};
    }

private:
    const job_queue queue_;
    const std::vector<new_job> jobs_;
};

class enqueuing final : public side {
public:
    enqueuing(const place& where, int batch)
        : database_(opened(where)), queue_(where), batch_(batch) {}

    std::unique_ptr<worker> make_worker(int) override {
        return std::make_unique<enqueue_worker>(database_, batch_);
    }
    void before_round() override { queue_.empty(); }

private:
    const database database_;
    const bench_queue queue_;
    const int batch_;
};

// Measures from before enqueue() until the handler begins, in a worker of all defaults that had
// nothing to do, in this process, by a session and a handle of its own.
class start_worker final : public worker {
public:
    explicit start_worker(const place& where)
        : database_(opened(where)),
          queue_(database_, queue_name),
          theirs_(opened(where)),
          session_(theirs_, {.name = "bench"}),
          worker_(session_, {.queues = {queue_name}}) {
        worker_.handle(kind_name, [this](job& what) { note_start(what.payload()); });
        thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
    }

    sample operate(const std::stop_token& stop) override {
        // It records the last end, and finds nothing.
        std::this_thread::sleep_for(milliseconds{5});
        new_job made;
        made.kind = kind_name;
        made.payload = std::to_string(++number_);
        const auto before = clock::now();
        queue_.enqueue(made);
        std::unique_lock guard{mutex_};
        const auto has_started = [&] { return started_number_ == made.payload || failure_; };
        if (!changed_.wait(guard, stop, has_started)) return {.is_over = true};
        if (failure_) std::rethrow_exception(failure_);
        return {.took = started_ - before};
    }

private:
    void note_start(const std::string& number) {
        const std::lock_guard guard{mutex_};
        started_ = clock::now();
        started_number_ = number;
        changed_.notify_all();
    }
    void run(const std::stop_token& stop) {
        try {
            worker_.run(stop);
        } catch (...) {
            const std::lock_guard guard{mutex_};
            failure_ = std::current_exception();
            changed_.notify_all();
        }
    }

    const database database_;
    const job_queue queue_;
    const database theirs_;
    session session_;
    leasehold::worker worker_;
    std::int64_t number_ = 0;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    clock::time_point started_{};
    std::string started_number_;
    std::exception_ptr failure_;
    std::jthread thread_;
};

class starts final : public side {
public:
    explicit starts(const place& where) : place_(where), queue_(where) {}

    void set_up() override { queue_.empty(); }
    std::unique_ptr<worker> make_worker(int) override {
        return std::make_unique<start_worker>(place_);
    }

private:
    const place place_;
    const bench_queue queue_;
};

}  // namespace

std::unique_ptr<side> make_job_subject(const workload& what, const place& where) {
    if (what.what == "job-drain") return std::make_unique<drains>(where, what.batch);
    if (what.what == "job-enqueue") return std::make_unique<enqueuing>(where, what.batch);
    return std::make_unique<starts>(where);
}

}  // namespace leasehold::bench
