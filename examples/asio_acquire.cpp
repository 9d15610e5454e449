// A server with one thread and an event loop, here Boost.Asio's: a thousand coroutines wait for
// twenty keys, and no thread waits with them.
//
//   asio_acquire URL
#include <utility>  // Boost 1.74 forgets it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "leasehold/asio.hpp"
#include "leasehold/leasehold.hpp"

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct tally {
    int served = 0;
    int refused = 0;
};

// A release is a round trip to the database: not on the loop's thread.
asio::awaitable<void> serve(leasehold::mutex& table, asio::thread_pool& releasing, tally& of_all) {
    const leasehold::async_wait how{.timeout = 5min};
    leasehold::acquisition lease =
        co_await leasehold::async_acquire(table, how, asio::use_awaitable);
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
