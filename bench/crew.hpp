#pragma once
// The workers whose work is measured. A *side* is one way to do it: leasehold, or the floor beside
// it. A *crew* is a side with so many workers, which work in rounds that all begin at one instant.
//
// Threads: a side makes its workers one after another; each then works in a thread of its own.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "bench/histogram.hpp"

namespace leasehold::bench {

using clock = std::chrono::steady_clock;

// The result of one operation.
struct sample {
    std::int64_t items = 1;             // 0: it did not count, as a hop from oneself to oneself
    std::chrono::nanoseconds took{-1};  // negative: the whole call
    std::chrono::nanoseconds first{0};  // of that, its first part: the acquire of a pair
    bool is_over = false;               // nothing was left to do, or the round was ended
};

class worker {
public:
    worker() = default;
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    virtual ~worker() = default;

    // Does one of many operations. A call that waits ends soon after `stop`.
    virtual sample operate(const std::stop_token& stop) = 0;
};

class side {
public:
    side() = default;
    side(const side&) = delete;
    side& operator=(const side&) = delete;
    virtual ~side() = default;

    virtual std::unique_ptr<worker> make_worker(int index) = 0;
    // One process calls this for all workers, before there are any: rows, keys that are to be held.
    virtual void set_up() {}
    // The time of this does not count.
    virtual void before_round() {}
};

// Workers begin `lead` before the start, so that the waiting ones are all in line when it comes. An
// operation that ends before the start, or after the end, does not count. If none ends between
// them, because one takes longer or the machine is busy, the round goes on until one of all has
// ended; not if several processes work, each of which knows of itself alone.
struct round_time {
    clock::time_point start;
    std::chrono::nanoseconds length{};
    std::chrono::nanoseconds lead{0};
    bool goes_on = true;
};

// Called at the start and at the end, while the workers work.
struct round_marks {
    std::function<void()> at_start{};
    std::function<void()> at_end{};
};

// The results of all workers in a round.
struct tally {
    std::int64_t operations = 0;
    std::int64_t items = 0;
    histogram whole{};
    histogram first{};
    std::chrono::nanoseconds span{0};        // from the start to the last operation's end
    std::chrono::nanoseconds client_cpu{0};  // of the processes that worked
    std::int64_t bytes_written = 0;          // by them, to files

    void add(const tally& other);
};

class crew {
public:
    crew() = default;
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;
    virtual ~crew() = default;

    virtual void before_round() = 0;
    // Throws what a worker threw.
    virtual tally run(
        const round_time& when, const round_marks& marks, const std::stop_token& stop
    ) = 0;
};

// Threads of this process.
class thread_crew final : public crew {
public:
    thread_crew(std::unique_ptr<side> of, int workers, int first_index = 0);
    ~thread_crew() override;

    void before_round() override { side_->before_round(); }
    tally run(const round_time& when, const round_marks& marks, const std::stop_token& stop)
        override;

private:
    std::unique_ptr<side> side_;
    std::vector<std::unique_ptr<worker>> workers_;
};

}  // namespace leasehold::bench
