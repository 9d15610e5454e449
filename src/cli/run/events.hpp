#pragma once
// Everything the tool waits for while it holds or wants a key, as descriptors for one poll:
// signals, the end of a task in the background, the loss of a lease. Nothing sleeps or spins.
//
// Threads: a signal_inbox belongs to the main thread and is made before any other thread, which
// then inherit its mask; an event_flag is set by any thread and taken by one.
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "leasehold/clock.hpp"

namespace leasehold::cli {

// Owns a descriptor.
class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor();
    int number() const noexcept { return number_; }
    void close() noexcept;

private:
    int number_ = -1;
};

// A new pipe, whose ends are closed at exec.
struct pipe_ends {
    pipe_ends();
    descriptor reading, writing;
};

// Lets a read or write fail that would wait.
void make_patient(const descriptor& end);

// Throws the errno of a failed system call as an exception.
[[noreturn]] void fail(const char* call);

// Waits for a limited time until one of `sources` can be read. Answers with the first that can, or
// nullopt.
std::optional<std::size_t> wait_for(
    std::initializer_list<int> sources, std::chrono::nanoseconds max_wait
);

// The state of signals that a program is started with, apart from pending ones.
class signal_state {
public:
    // Reads the present state.
    signal_state() noexcept;
    // Restores that state for the program that is executed next: handlers end with execve by
    // themselves. Async-signal-safe.
    void restore() const noexcept;
    bool ignores(int number) const noexcept { return sigismember(&ignored_, number) == 1; }

private:
    sigset_t mask_{};
    sigset_t ignored_{};
};

// Signals as messages. From its construction to its destruction the signals that ask a program to
// do something (end, reload, …) are taken out here, and no longer end the process; nor does a
// message on standard error that nobody reads any more.
class signal_inbox {
public:
    signal_inbox();
    ~signal_inbox();
    signal_inbox(const signal_inbox&) = delete;
    signal_inbox& operator=(const signal_inbox&) = delete;

    int source() const noexcept { return source_.number(); }
    // The next one, SIGCHLD among them. TERM or INT said again within a second is the same one: so
    // say it `timeout` and systemd, to the process and to its group.
    std::optional<int> take();
    // The next signal that tells the tool itself to end: all that come within a second are one.
    std::optional<int> take_wish();
    // True if TERM, INT, QUIT or HUP has come: for a server, which heeds no others.
    bool is_asked_to_end();
    // The state before this inbox: for children.
    const signal_state& outside() const noexcept { return outside_; }

private:
    const signal_state outside_;
    sigset_t mask_before_{};
    struct sigaction broken_pipe_before_ {};
    descriptor source_;
    std::array<std::optional<local_clock::time_point>, NSIG> taken_at_;  // by number
    std::optional<local_clock::time_point> wished_at_;
};

// Waits before the next attempt in an outage. Answers with the signal that ended the wait, or 0.
int wait_a_moment(signal_inbox& signals);

// Reports an event from another thread.
class event_flag {
public:
    event_flag();
    void set() noexcept;
    // True if it was set since the last call.
    bool take() noexcept;
    int source() const noexcept { return source_.number(); }

private:
    descriptor source_;
};

// One call in a thread of its own, so that signals are heard while a database is waited for.
template <class Result>
class background {
public:
    template <class Work>
    explicit background(Work work)
        : thread_([this, work = std::move(work)](std::stop_token cancel) mutable {
              try {
                  result_.emplace(work(std::move(cancel)));
              } catch (...) {
                  failure_ = std::current_exception();
              }
              done_.set();
          }) {}

    int source() const noexcept { return done_.source(); }
    bool has_ended() const { return wait_for({source()}, std::chrono::nanoseconds{0}).has_value(); }
    void cancel() noexcept { thread_.request_stop(); }
    // Waits for the end; throws the exception of the call.
    Result take() {
        thread_.join();
        if (failure_) std::rethrow_exception(failure_);
        return std::move(result_).value();
    }

private:
    event_flag done_;
    std::optional<Result> result_;
    std::exception_ptr failure_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace leasehold::cli
