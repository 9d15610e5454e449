#include "bench/crew.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

namespace leasehold::bench {
namespace {

// The time of this process, and of its children that have ended.
std::chrono::nanoseconds cpu_time() {
    timespec own{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    rusage children{};
    getrusage(RUSAGE_CHILDREN, &children);
    const auto& user = children.ru_utime;
    const auto& system = children.ru_stime;
    return std::chrono::seconds{own.tv_sec + user.tv_sec + system.tv_sec} +
           std::chrono::nanoseconds{own.tv_nsec} +
           std::chrono::microseconds{user.tv_usec + system.tv_usec};
}

// The bytes that this process has written to files so far; 0 where the system does not say.
std::int64_t bytes_written() {
    std::ifstream file{"/proc/self/io"};
    std::string name;
    for (std::int64_t number = 0; file >> name >> number;) {
        if (name == "wchar:") return number;
    }
    return 0;
}

// One round of one crew: it ends with its time, when it is stopped, when all are done, or with the
// first failure.
class one_round {
public:
    one_round(const round_time& when, const std::stop_token& stop)
        : when_(when), on_stop_(stop, end_it{end_}) {}

    void work(worker& each) noexcept {
        tally done;
        std::exception_ptr failure;
        try {
            count(each, done);
        } catch (...) {
            failure = std::current_exception();
            end_.request_stop();
        }
        const std::lock_guard guard{mutex_};
        all_.add(done);
        if (failure && !failure_) failure_ = failure;
        ++ended_;
        changed_.notify_all();
    }

    void wait_for(std::size_t workers) {
        std::unique_lock guard{mutex_};
        const auto until = when_.start + when_.length;
        const auto all_have = [&] { return ended_ == workers; };
        changed_.wait_until(guard, end_.get_token(), until, all_have);
        if (!when_.goes_on) return;
        changed_.wait(guard, end_.get_token(), [&] { return all_have() || has_counted_; });
    }
    void end() noexcept { end_.request_stop(); }

    tally take() {
        if (failure_) std::rethrow_exception(failure_);
        return std::move(all_);
    }

private:
    struct end_it {
        std::stop_source& what;
        void operator()() const noexcept { what.request_stop(); }
    };

    void count(worker& each, tally& done) {
        const auto stop = end_.get_token();
        std::this_thread::sleep_until(when_.start - when_.lead);
        const auto until = when_.start + when_.length;
        const auto is_late = [&](clock::time_point now) {
            return now > until && (has_counted_ || !when_.goes_on);
        };
        for (auto before = clock::now(); !is_late(before) && !stop.stop_requested();) {
            const sample what = each.operate(stop);
            const auto after = clock::now();
            if (what.is_over || is_late(after)) return;
            if (what.items > 0 && after >= when_.start) {
                done.items += what.items;
                ++done.operations;
                done.whole.add(what.took.count() < 0 ? after - before : what.took);
                if (what.first.count() > 0) done.first.add(what.first);
                done.span = after - when_.start;
                if (!has_counted_.exchange(true)) notify();
            }
            before = after;
        }
    }
    void notify() {
        const std::lock_guard guard{mutex_};
        changed_.notify_all();
    }

    const round_time when_;
    std::stop_source end_;
    std::stop_callback<end_it> on_stop_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::size_t ended_ = 0;
    std::atomic<bool> has_counted_ = false;
    tally all_;
    std::exception_ptr failure_;
};

}  // namespace

void tally::add(const tally& other) {
    operations += other.operations;
    items += other.items;
    whole.add(other.whole);
    first.add(other.first);
    span = std::max(span, other.span);
    client_cpu += other.client_cpu;
    bytes_written += other.bytes_written;
}

thread_crew::thread_crew(std::unique_ptr<side> of, int workers, int first_index)
    : side_(std::move(of)) {
    for (int each = 0; each < workers; ++each) {
        workers_.push_back(side_->make_worker(first_index + each));
    }
}

thread_crew::~thread_crew() = default;

tally thread_crew::run(
    const round_time& when, const round_marks& marks, const std::stop_token& stop
) {
    one_round round{when, stop};
    tally used;
    {
        std::vector<std::jthread> threads;
        threads.reserve(workers_.size());
        for (auto& each : workers_) threads.emplace_back([&] { round.work(*each); });
        std::this_thread::sleep_until(when.start);
        if (marks.at_start) marks.at_start();
        used.client_cpu -= cpu_time();
        used.bytes_written -= bytes_written();
        round.wait_for(workers_.size());
        used.client_cpu += cpu_time();
        used.bytes_written += bytes_written();
        if (marks.at_end) marks.at_end();
        round.end();
    }
    tally done = round.take();
    done.add(used);
    return done;
}

}  // namespace leasehold::bench
