#pragma once
// To wait for a mutex without a thread that waits: how, and who is told.
//
//   closing.acquire_async({.patience = 5s}, [](std::exception_ptr failure, acquisition got) {
//       if (got) publish(report, got->token());
//   });
//
// In a coroutine: leasehold/await.hpp. With an event loop of your own: give `post`;
// examples/asio_acquire.cpp does so with Boost.Asio.
//
// | the call …                          | its completion is called with                          |
// |-------------------------------------|--------------------------------------------------------|
// | gets the key, at once or in turn    | a lease                                                |
// | runs out of time, or is cancelled   | nothing; or a lease, if it was granted that meanwhile  |
// | was cancelled before it began       | nothing; the database was not asked                    |
// | its session is lost, or ended       | session_lost; what it was granted is released          |
// | cannot be answered                  | what mutex::acquire_until() throws then                |
// | found no thread free in time        | timed_out: they all waited for a database that hangs;  |
// |                                     | outcome_is_unknown(), where it had a place in a queue: |
// |                                     | the session leaves it, and releases what it was granted|
// | loses its mutex, its database handle| as if they were there: it keeps them                   |
//
// Promises: the completion is called once, and not within acquire_async() unless `post` does so. A
// failure comes with an empty acquisition, and a lease without a failure; where both are empty,
// got.holder() may say who has the key. A lease that nobody takes out of it is released when the
// acquisition goes. A call costs the database what a call that waits on a thread costs: its place
// in the queue, and a share of the looks that its handle's waiting room does for all.
// It has the same end in an outage as that one, and no call is late because others hang: a thread
// that asks nobody compares all deadlines.
// Does not promise: an order of completions.
//
// Threads: from any. All calls of one database handle, however many, share six threads at most,
// which are started when they are first needed: four that send their statements (or
// connections_max, where that is less), one for their deadlines, and one that runs completions
// where there is no `post`. There completions run one after another: one that blocks delays the
// others, nothing else. A lease that is released in a completion is a round trip of that thread.
// `post` is called on a thread that other calls need: it must not throw, and not wait; to run the
// completion within it is to make them wait for it.
// A completion must not throw where the library runs it: that ends the program, by std::terminate.
// It may end and destroy whatever it likes: its mutex, session and database handle, too.
//
// At the end: session::end() and the destructor of a session wait until its calls have left their
// queues, a statement time-out at most, and not for completions. The last copy of a database handle
// runs what completions its thread has left, unless it goes in one of them.
//
// Errors: std::system_error, thrown by acquire_async() where no thread can be started; then the
// completion is not called. Everything else comes to that.
#include <chrono>
#include <exception>
#include <functional>
#include <stop_token>

#include "leasehold/lease.hpp"

namespace leasehold {

// Has it run, elsewhere and soon: boost::asio::post(io, work), or what a thread pool has for that.
using executor = std::function<void(std::function<void()> work)>;

using acquire_completion = std::function<void(std::exception_ptr failure, acquisition got)>;

struct async_wait {
    // At most so long; zero or less asks once. For ever, where it is not given.
    std::chrono::nanoseconds patience = std::chrono::nanoseconds::max();
    // Ends the wait. A request that comes with a grant does not undo it.
    std::stop_token cancel{};
    // Where the completion runs; nothing: on a thread of the library.
    executor post{};
};

}  // namespace leasehold
