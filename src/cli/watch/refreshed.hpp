#pragma once
// A value that one thread reads for all callers, with a pause between two reads. A hundred callers
// at once cost one read, and none waits for it longer than `timeout`.
//
// After a long read the next one is put off, so that reads take a fifth of the time at most,
// however much there is to read. A read that has failed is repeated soon, however long it took.
//
// Threads: safe. The function is called by one thread alone.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "leasehold/clock.hpp"

namespace leasehold::cli {

struct refresh_settings {
    std::chrono::milliseconds interval{1000};  // between the end of a read and the next
    std::chrono::milliseconds timeout{2000};   // of a caller
    std::optional<std::chrono::milliseconds> at_least_every{};  // even if nobody asks
};

template <class Value>
class refreshed {
public:
    struct answer {
        std::shared_ptr<const Value> value{};  // null: none was read yet
        bool is_late = false;                  // a newer one was due, and did not come in time
    };

    // `read` throws nothing: a failure is part of the value.
    refreshed(
        std::function<Value()> read,
        std::function<bool(const Value&)> has_failed,
        refresh_settings settings = {}
    )
        : settings_(settings),
          read_(std::move(read)),
          has_failed_(std::move(has_failed)),
          is_wanted_(settings.at_least_every.has_value()),
          thread_([this](std::stop_token stop) { work(stop); }) {}

    answer latest() {
        std::unique_lock guard{mutex_};
        if (value_ && local_clock::now() < next_) return {value_, false};
        is_wanted_ = true;
        changed_.notify_all();
        const std::uint64_t seen = reads_;
        const bool is_new =
            changed_.wait_for(guard, settings_.timeout, [&] { return reads_ != seen; });
        return {value_, !is_new};
    }

    // True while a read is under way.
    bool is_reading() const {
        const std::lock_guard guard{mutex_};
        return is_reading_;
    }

private:
    void work(const std::stop_token& stop) {
        std::unique_lock guard{mutex_};
        while (!stop.stop_requested()) {
            const auto is_wanted = [&] { return is_wanted_; };
            if (settings_.at_least_every) {
                changed_.wait_for(guard, stop, *settings_.at_least_every, is_wanted);
            } else {
                changed_.wait(guard, stop, is_wanted);
            }
            if (stop.stop_requested()) return;
            is_reading_ = true;
            guard.unlock();
            const auto began = local_clock::now();
            auto read = std::make_shared<const Value>(read_());
            const auto ended = local_clock::now();
            guard.lock();
            is_reading_ = is_wanted_ = false;
            value_ = std::move(read);
            constexpr int rests = 4;  // as long as the read itself
            const local_clock::duration rest =
                has_failed_(*value_) ? local_clock::duration{0} : rests * (ended - began);
            next_ = ended + std::max<std::chrono::nanoseconds>(settings_.interval, rest);
            ++reads_;
            changed_.notify_all();
        }
    }

    const refresh_settings settings_;
    const std::function<Value()> read_;
    const std::function<bool(const Value&)> has_failed_;
    mutable std::mutex mutex_;  // guards all that follows
    std::condition_variable_any changed_;
    std::shared_ptr<const Value> value_;
    local_clock::time_point next_{};
    std::uint64_t reads_ = 0;
    bool is_wanted_ = false;
    bool is_reading_ = false;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace leasehold::cli
