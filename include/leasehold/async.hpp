#pragma once
// Waits for a mutex without a thread that waits, and calls a completion with the outcome;
// leader_election::campaign_async() waits for an office in the same way.
//
//   closing.acquire_async({.timeout = 5s}, [](std::exception_ptr failure,
//                                             leasehold::acquisition got) {
//       if (failure) return warn(failure);
//       if (got) publish(report, got->token());
//   });
//
// In a coroutine: leasehold/await.hpp. With Boost.Asio: leasehold/asio.hpp. With another event
// loop: give `post`.
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
// failure comes with an empty acquisition, and a lease without a failure; if both are empty,
// got.holder() may say who has the key. A lease that nobody takes out of the acquisition is
// released when the acquisition is destroyed. A call costs the database what a call that waits on a
// thread costs: its place in the queue, and a share of the queries that its handle's wait registry
// sends for all.
// In an outage a call ends as one that waits on a thread does. No call is late because others hang:
// the thread that compares all deadlines does no I/O.
// Does not promise: an order of completions.
//
// Threads: any thread may call. All calls of one database handle, however many, share six threads
// at most, which are started when they are first needed: four that send their statements (or
// max_connections, if that is less), one for their deadlines, and one that runs completions
// if there is no `post`. That thread runs completions one after another: one that blocks delays
// the others, nothing else. It is busy for a round trip when a completion releases a lease.
// `post` is called on a thread that other calls need, so it must not throw, and not wait: a `post`
// that runs the completion itself makes those calls wait for it.
// A completion must not throw where the library runs it: that ends the program, by std::terminate.
// It may end and destroy whatever it likes: its mutex, session and database handle, too.
//
// At the end: session::end() and the destructor of a session wait until its calls have left their
// queues, a statement time-out at most, and not for completions. The last copy of a database handle
// runs the completions that its thread has left, unless a completion destroys that copy.
//
// Errors: acquire_async() throws invalid_argument if the completion is empty, and a
// std::system_error that is no leasehold::error if no thread can be started; then the completion is
// not called. The completion gets every other error.
#include <exception>
#include <optional>
#include <stop_token>

#include "leasehold/callable.hpp"
#include "leasehold/lease.hpp"

namespace leasehold {

// Runs the work elsewhere and soon: boost::asio::post(io, work), or the same of a thread pool.
using post_function = callable<void(callable<void()> work)>;

using acquire_completion = callable<void(std::exception_ptr failure, acquisition got)>;

// These settings say how long an asynchronous call waits, and where its completion runs.
struct async_wait {
    // The longest wait; zero or less asks once. The call waits for ever if unset.
    std::optional<wait_time> timeout{};
    // Ends the wait. A request that comes with a grant does not undo the grant.
    std::stop_token cancel{};
    // Runs the completion. If it is empty, a thread of the library does.
    post_function post{};
};

}  // namespace leasehold
