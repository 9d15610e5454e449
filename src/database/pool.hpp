#pragma once
// A bounded set of connections, replaced when they break.
//
// take() lends a connection that is idle and was answering a moment ago; give_back() keeps it if it
// is still fit. After a failed attempt to connect, the next ones are spaced by a jittered back-off,
// so that a restarted server gets no stampede: they come one at a time. A pool that never connected
// fails at once: a wrong address should not take ten seconds to say so.
//
// A connection that was given up keeps its place until the server is known to have ended it: see
// core/left_work.hpp. If such connections take all places, a connection beyond the bound, one at a
// time, ends their work.
//
// The pool remembers whether the server answered last: if it did not, a good-bye does not insist.
// An opened connection is no answer: a server whose commits wait for a standby that is gone lets
// everybody in, and answers no write.
//
// Threads: safe.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/left_work.hpp"
#include "core/process.hpp"
#include "core/thread_mutex.hpp"
#include "database/bounds.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"

namespace leasehold {

enum class server_word {
    answer,   // to a statement; at first, too
    silence,  // a statement got no answer in its time; or a connection opened after the next two
    refusal,  // no connection opened, and the server said so at once
    mute,     // no connection opened in its time
    ignored,  // a good-bye got no answer in its time
};

class pool {
public:
    // Firewalls and servers drop connections that sleep; a connection that slept for longer than
    // `nap_trusted` is asked before it is lent. Shorter naps are not worth a round trip.
    pool(
        connector connect,
        const database_settings& settings,
        std::chrono::nanoseconds nap_trusted = std::chrono::seconds{5}
    );

    // Waits at most pool_timeout; if a connection that slept does not answer, the check of it
    // and connect_timeout more; and never beyond the deadline of the call, except for that check. A
    // good-bye does without the check: it opens a new connection in the place of one that slept.
    // Ends at once when the call is stopped, or as soon as the connector heeds it. Throws timed_out
    // or what the connector throws.
    // In a forked child each of these throws unsupported, and a connection that is given back stays
    // as it is: the parent uses it.
    std::unique_ptr<connection> take(const bounds& of_call = {});
    // As take(), for a caller that may already have a connection: opens one beyond the bound rather
    // than wait. Otherwise callers that hold all connections would wait for each other.
    std::unique_ptr<connection> take_beside(const bounds& of_call = {});
    void give_back(std::unique_ptr<connection> lent) noexcept {
        give_back(std::move(lent), filling_);
    }
    // `filling`: the value before the connection was taken.
    void give_back(std::unique_ptr<connection> lent, int filling) noexcept;
    // Takes back a connection of connect_apart() that is no longer of use; it may be null.
    void retire(std::unique_ptr<connection> apart) noexcept;
    // Connections that were opened before are not lent again.
    void fill_anew() noexcept;
    int filling() const noexcept { return filling_; }
    bool is_at_home() const noexcept { return home_.is_here(); }
    void require_at_home() const;
    pool_use use() const;
    // The error for a caller that has waited for one since then in vain: stopped, or all were busy.
    // Tells the observer, too.
    [[noreturn]] void give_up(const bounds& of_call, local_clock::time_point asked) const;
    std::chrono::milliseconds timeout() const noexcept { return settings_.pool_timeout; }

    // A connection broke: the next one that opens is a recovery, and the observer is told.
    void note_broken() noexcept;

    // A call got no answer in time. Idle connections are closed: each would get no answer either,
    // and cost the whole statement time-out.
    void note_silence() noexcept;
    // A good-bye that began then has waited and got no answer: no further one is tried until
    // somebody gets an answer. Has no effect if somebody has got one meanwhile.
    void note_ignored(local_clock::time_point began) noexcept;
    void note_answer() noexcept;
    server_word last_word() const noexcept { return last_word_; }

    // A connection outside the bound, for a session's heartbeat; spaced by the same back-off. A
    // vital one is refused last: if the server lets nobody in, it gets the next free connection of
    // the pool.
    std::unique_ptr<connection> connect_apart(
        std::chrono::milliseconds timeout, const std::stop_token& stop = {}, bool is_vital = false
    );

private:
    struct idle_connection {
        std::unique_ptr<connection> held;
        local_clock::time_point since;
    };

    // An attempt to connect; the only one, after a failure.
    class turn {
    public:
        turn(pool& of, bool is_only) noexcept : of_(of), is_only_(is_only) {}
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn();

    private:
        pool& of_;
        const bool is_only_;
    };

    void tell_wait(event_reason how, local_clock::time_point asked) const;
    void wait_for_place(const bounds& of_call, local_clock::time_point deadline, bool is_apart);
    std::unique_ptr<connection> take_counted(
        const bounds& of_call, local_clock::time_point deadline
    );
    std::unique_ptr<connection> take_idle(const bounds& of_call, local_clock::time_point& deadline);
    std::unique_ptr<connection> connect_within(
        const bounds& of_call, local_clock::time_point deadline
    );
    // True when the next attempt is the one that all others wait for.
    bool wait_for_turn(local_clock::time_point deadline, const std::stop_token& stop);
    std::unique_ptr<connection> attempt(
        std::chrono::milliseconds timeout, const std::stop_token& stop
    );
    std::unique_ptr<connection> take_reserved();

    // Work that was left at the server: pool_left.cpp.
    bool is_place_free() LEASEHOLD_REQUIRES(mutex_);
    bool may_settle() const LEASEHOLD_REQUIRES(mutex_);
    local_clock::time_point next_look() const LEASEHOLD_REQUIRES(mutex_);
    void settle(const bounds& of_call, local_clock::time_point deadline);
    static void end_left(connection& by, std::vector<std::unique_ptr<left_work>>& all);
    bool keep_place_of(const connection* lent);
    std::string words_of_left() const;
    void note_failure(local_clock::time_point began, std::chrono::milliseconds timeout);
    void note_success() LEASEHOLD_EXCLUDES(mutex_);  // tells the observer
    void forget_idle() noexcept;

    const home_process home_;
    const connector connect_;
    const database_settings settings_;
    const std::chrono::nanoseconds nap_trusted_;

    std::atomic<int> filling_ = 0;
    std::atomic<server_word> last_word_ = server_word::answer;
    std::atomic<local_clock::time_point> answered_at_{local_clock::time_point{}};
    std::atomic<local_clock::time_point> connected_at_{local_clock::time_point{}};

    mutable thread_mutex mutex_;
    std::condition_variable_any given_back_;
    std::condition_variable_any recovered_;
    std::vector<idle_connection> idle_ LEASEHOLD_GUARDED_BY(mutex_);  // most recently used last
    int lent_ LEASEHOLD_GUARDED_BY(mutex_) = 0;                       // taken or being opened
    int failures_in_a_row_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
    bool is_probing_ LEASEHOLD_GUARDED_BY(mutex_) = false;  // somebody, after a failure
    bool is_vital_refused_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    bool connected_once_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    // True when a connection broke since one was last opened.
    bool has_lost_one_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    local_clock::time_point next_attempt_ LEASEHOLD_GUARDED_BY(mutex_){};

    // Each entry counts as lent.
    std::vector<std::unique_ptr<left_work>> left_ LEASEHOLD_GUARDED_BY(mutex_);
    std::unique_ptr<connection> settler_ LEASEHOLD_GUARDED_BY(mutex_);  // beyond the bound
    bool is_settling_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    int settlements_in_vain_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
    local_clock::time_point next_settlement_ LEASEHOLD_GUARDED_BY(mutex_){};
};

}  // namespace leasehold
