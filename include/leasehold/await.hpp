#pragma once
// Waits for a mutex in a coroutine of any type that can wait for anything.
//
//   const leasehold::async_wait how{.timeout = 5s, .post = post};
//   if (auto lease = co_await leasehold::acquire(closing, how)) publish(report, lease->token());
//
// | the wait                    | in the coroutine                                     |
// |-----------------------------|------------------------------------------------------|
// | brings a lease, or nothing  | the acquisition                                      |
// | fails; could not begin      | throws that, on the thread that would have gone on   |
//
// Promises: the coroutine goes on once, where `post` runs it, or else on the library's thread for
// completions. See async.hpp. Does not promise: to survive its coroutine. A coroutine that waits
// here must not be destroyed before it goes on: request `cancel`, and let it go on.
//
// Threads: those of the coroutine.
#include "leasehold/export.hpp"  // first: it says which standard is needed

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "leasehold/async.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold {

class [[nodiscard]] acquire_awaiter {
public:
    acquire_awaiter(mutex& wanted, async_wait how) : wanted_(&wanted), how_(std::move(how)) {}

    bool await_ready() const noexcept { return false; }
    // The coroutine may go on, and end, before this returns.
    void await_suspend(std::coroutine_handle<> waiting) {
        const auto go_on = [this, waiting](std::exception_ptr failure, acquisition got) noexcept {
            failure_ = std::move(failure);
            got_.emplace(std::move(got));
            waiting.resume();
        };
        wanted_->acquire_async(std::move(how_), go_on);
    }
    acquisition await_resume() {
        if (failure_) std::rethrow_exception(failure_);
        return *std::move(got_);
    }

private:
    mutex* wanted_;
    async_wait how_;
    std::exception_ptr failure_{};
    std::optional<acquisition> got_{};
};

// `wanted` must exist until the coroutine goes on. `how` must be a named object: GCC 12 destroys a
// braced one in an expression with co_await twice.
inline acquire_awaiter acquire(mutex& wanted, const async_wait& how) {
    return {wanted, how};
}
inline acquire_awaiter acquire(mutex& wanted) {
    return {wanted, async_wait{}};
}
acquire_awaiter acquire(mutex& wanted, async_wait&& how) = delete;

}  // namespace leasehold
