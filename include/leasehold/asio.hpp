#pragma once
// Waits for a mutex as an operation of Boost.Asio: for callbacks, futures and coroutines. Your
// program compiles it, against its own Boost; leasehold.hpp does not include this.
//
//   const leasehold::async_wait how{.timeout = 5s};
//   auto got = co_await leasehold::async_acquire(closing, how, asio::use_awaitable);
//
// Promises: the completion runs on the executor that belongs to `token`, which has work until then.
// Without one, as for a plain callback, a thread of Asio's runs it (`system_executor`). A failure
// arrives as Asio has it: as std::exception_ptr, or thrown by co_await and future::get().
// Does not promise: Asio's cancellation slots; set async_wait::cancel. async_wait::post is ignored.
//
// `wanted` and the execution context must stay until the completion has begun: request `cancel`,
// and let the context run to its end, before either goes. A lease that the completion drops is
// released by a round trip to the database, in that thread: move it elsewhere if the loop must not
// wait.
//
// Errors and threads: as async.hpp.
#include "leasehold/export.hpp"
// The header above comes first: it says which standard is needed.
#include <utility>  // Boost 1.74 forgets it

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>

#include "leasehold/mutex.hpp"

namespace leasehold {

// The wait must be a named object: GCC 12 destroys a braced one in an expression with co_await
// twice.
template <class Token>
auto async_acquire(mutex& wanted, async_wait&& how, Token&& token) = delete;
template <class Token>
auto async_acquire(mutex& wanted, const async_wait& given, Token&& token) {
    auto initiate = [&wanted, how = given](auto handler) mutable {
        const auto executor = boost::asio::get_associated_executor(handler);
        how.post = [executor](callable<void()> work) {
            boost::asio::post(executor, std::move(work));
        };
        wanted.acquire_async(
            std::move(how),
            [handler = std::move(handler), at_work = boost::asio::make_work_guard(executor)](
                std::exception_ptr failure, acquisition got
            ) mutable { std::move(handler)(std::move(failure), std::move(got)); }
        );
    };
    return boost::asio::async_initiate<Token, void(std::exception_ptr, acquisition)>(
        std::move(initiate), token
    );
}

}  // namespace leasehold
