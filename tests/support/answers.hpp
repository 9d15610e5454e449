#pragma once
// The arguments and the number of calls of the completion of one acquire_async(), or of another
// call of that kind.
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/timed_wait.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/mutex.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {

template <class Outcome>
class answer_of {
public:
    auto taker() const {
        return [to = inner_](std::exception_ptr failure, Outcome got) noexcept {
            to->take(std::move(failure), std::move(got));
        };
    }

    int times() const {
        const std::lock_guard guard{inner_->mutex};
        return inner_->times;
    }
    bool has_come() const {
        return eventually([&] { return times() > 0; });
    }
    // Waits for it as the library waits, so that a test's time goes on. Throws a failure.
    Outcome get() const {
        std::unique_lock guard{inner_->mutex};
        wait_until(guard, inner_->changed, {}, local_clock::time_point::max(), [&] {
            return inner_->times > 0;
        });
        if (inner_->failure) std::rethrow_exception(inner_->failure);
        return *std::exchange(inner_->got, std::nullopt);
    }
    std::thread::id by() const {
        const std::lock_guard guard{inner_->mutex};
        return inner_->by;
    }

private:
    struct taken {
        void take(std::exception_ptr with, Outcome what) {
            {
                const std::lock_guard guard{mutex};
                ++times;
                failure = std::move(with);
                got.emplace(std::move(what));
                by = std::this_thread::get_id();
            }
            changed.notify_all();
        }
        std::mutex mutex;
        std::condition_variable_any changed;
        int times = 0;
        std::exception_ptr failure;
        std::optional<Outcome> got;
        std::thread::id by;
    };
    std::shared_ptr<taken> inner_ = std::make_shared<taken>();
};
using answer = answer_of<acquisition>;

}  // namespace leasehold::testing
