// A server with one thread and an event loop, here Boost.Asio's: a thousand coroutines wait for
// twenty keys, and no thread waits with them.
//
//   asio_acquire URL
#include <utility>  // Boost 1.74 forgets it

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "leasehold/leasehold.hpp"
#include "leasehold/open.hpp"

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// An operation as Asio has them: for callbacks, futures and coroutines. Its completion runs where
// the handler wants to; until then the loop has work, and does not end.
template <class Token>
auto async_acquire(leasehold::mutex& wanted, leasehold::async_wait how, Token&& token) {
    auto initiate = [&wanted, how = std::move(how)](auto handler) mutable {
        const auto executor = asio::get_associated_executor(handler);
        how.post = [executor](std::function<void()> work) {
            asio::post(executor, std::move(work));
        };
        wanted.acquire_async(
            std::move(how),
            [handler = std::move(handler), at_work = asio::make_work_guard(executor)](
                std::exception_ptr failure, leasehold::acquisition got
            ) mutable { std::move(handler)(std::move(failure), std::move(got)); }
        );
    };
    return asio::async_initiate<Token, void(std::exception_ptr, leasehold::acquisition)>(
        std::move(initiate), token
    );
}

struct tally {
    int served = 0;
    int refused = 0;
};

// A release is a round trip to the database: not on the loop's thread.
asio::awaitable<void> serve(leasehold::mutex& table, asio::thread_pool& releasing, tally& of_all) {
    leasehold::acquisition lease =
        co_await async_acquire(table, {.patience = 5min}, asio::use_awaitable);
    if (lease) {
        ++of_all.served;
        asio::post(releasing, [held = std::move(lease)] {});  // and goes with it
    } else {
        ++of_all.refused;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: asio_acquire URL\n";
        return 64;
    }
    try {
        const leasehold::database db = leasehold::open(arguments[1]);
        leasehold::migrate(db);
        leasehold::session session{db, {.name = "waiters"}};
        std::vector<leasehold::mutex> tables;
        for (int each = 0; each < 20; ++each) {
            tables.emplace_back(session, "table/" + std::to_string(each));
        }
        asio::io_context loop{1};
        asio::thread_pool releasing{2};
        tally of_all;
        const auto rethrow = [](std::exception_ptr failure) {
            if (failure) std::rethrow_exception(failure);
        };
        for (std::size_t guest = 0; guest < 1000; ++guest) {
            leasehold::mutex& table = tables[guest % tables.size()];
            asio::co_spawn(loop, serve(table, releasing, of_all), rethrow);
        }
        loop.run();  // on this thread alone
        releasing.join();
        std::cout << of_all.served << " were served on one thread, " << of_all.refused
                  << " were not\n";
    } catch (const std::exception& failure) {
        std::cerr << "asio_acquire: " << failure.what() << '\n';
        return 1;
    }
}
