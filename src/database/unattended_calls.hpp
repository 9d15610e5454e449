#pragma once
// The calls of one database handle that no thread waits in. A few threads go on with each call that
// has something to do: their number does not grow with the number of waiting calls.
//
// | a call is | event                                     | becomes                             |
// |-----------|-------------------------------------------|-------------------------------------|
// | –         | add()                                     | ready                               |
// | ready     | a thread is free: its go_on()             | under way                           |
// | ready     | its give_up_at() passes: its give_up()    | gone                                |
// | under way | its go_on() says until when it waits      | waiting; ready, if woken meanwhile  |
// | under way | its go_on() says that it is over          | gone                                |
// | waiting   | wake(), or that time comes                | ready, before those that begin      |
//
// Threads of its own, started when they are first needed and running until the handle is destroyed:
// up to `max_workers` that send statements; a clerk, which compares the clock with deadlines and
// waits for no server, so that no call is late because all other calls hang; and one that runs
// completions, for users that post nothing, so that a completion that blocks delays only other
// completions.
//
// The last reference to the handle may be given up by one of these threads: it ends by itself then.
//
// Threads: safe.
#include <cstddef>
#include <memory>
#include <optional>

#include "leasehold/callable.hpp"
#include "leasehold/clock.hpp"

namespace leasehold {

class unattended_call {
public:
    unattended_call() = default;
    virtual ~unattended_call() = default;
    unattended_call(const unattended_call&) = delete;
    unattended_call& operator=(const unattended_call&) = delete;

    // The object it belongs to, for await_none().
    virtual const void* owner() const noexcept = 0;
    // Runs on a thread that may wait for the database. Answers with the time until which the call
    // then has nothing to do; nullopt if it is over, and its completion was handed on.
    virtual std::optional<local_clock::time_point> go_on() noexcept = 0;
    // The time to end a ready call though no thread was free for it. Called with the calls locked.
    virtual local_clock::time_point give_up_at() const noexcept = 0;
    // Runs on a thread that must not wait. The call is over then, and its completion handed on.
    virtual void give_up() noexcept = 0;

private:
    friend class unattended_calls;
    enum class stage { absent, ready, under_way, waiting };
    // Guarded by the mutex of the calls it is among.
    stage stage_ = stage::absent;
    bool was_woken_ = false;
    bool begins_ = true;
    local_clock::time_point due_{};
};

class unattended_calls {
public:
    static constexpr int max_workers = 4;

    explicit unattended_calls(int max_connections);
    ~unattended_calls();
    unattended_calls(const unattended_calls&) = delete;
    unattended_calls& operator=(const unattended_calls&) = delete;

    // Throws std::system_error if no thread can be started for it; then it was not added.
    void add(std::shared_ptr<unattended_call> call);
    // The call has something to do; harmless if it is not in the list. Never waits.
    void wake(unattended_call& call) noexcept;
    // Runs `completion` on the thread for completions; it must not throw.
    void complete(callable<void()> completion);
    // Waits until `owner` has no call left here, or until that time. Returns at once on a thread
    // that goes on with calls.
    void await_none(const void* owner, local_clock::time_point until) noexcept;

    // For tests.
    std::size_t size() const;
    int threads() const;

private:
    class state;
    std::shared_ptr<state> state_;  // of its threads, too
};

}  // namespace leasehold
