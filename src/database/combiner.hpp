#pragma once
// Requests of threads of one process that wait for a connection at the same moment travel together,
// in one statement and one commit. If none waits, and no such statement is under way, a request is
// sent alone and at once.
//
// One of the waiting requests *leads*: it waits for the connection, the other requests wait for it.
// Once it has a connection it takes all requests that wait by then. While a statement for several
// is under way new requests wait for its end, and then one of them leads: two statements at a time
// would each carry half. A request that has waited for `overtaking_after` leads all the same, as if
// it were alone: neither a statement that hangs nor a connection that does not open stops anybody
// else. If the statement for all leaves a request open, that request is sent by itself, as if it
// had been alone.
//
// | stage   | event                                  | becomes                                   |
// |---------|----------------------------------------|-------------------------------------------|
// | waiting | nobody leads, and none is under way    | leading                                   |
// | waiting | it has waited for overtaking_after     | leading                                   |
// | waiting | a leader has a connection              | taken                                     |
// | waiting | stopped, or time is up                 | gone: throws what a busy pool throws      |
// | leading | has a connection                       | taken, with those that wait               |
// | leading | has none: throws what the pool throws  | gone; the next that waits leads           |
// | taken   | the statement was answered, or failed  | done; a stop is not heeded until then     |
//
// A failure whose outcome is unknown is that of each request: each settles its own. After a failure
// that proved that nothing was done each is sent by itself, since one request may have made the
// statement fail for all.
//
// Source: "flat combining" (Hendler, Incze, Shavit, Tzafrir, SPAA 2010), with a connection as the
// lock.
//
// Threads: safe.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "core/thread_mutex.hpp"
#include "database/bounds.hpp"
#include "database/pool.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

class combiner {
public:
    // Belongs to one thread; a class derived from it has the question and the answer.
    class request {
    public:
        request() = default;
        request(const request&) = delete;
        request& operator=(const request&) = delete;

    protected:
        ~request() = default;

    private:
        friend class combiner;
        enum class stage { waiting, leading, taken, done };
        stage now_ = stage::waiting;
        std::optional<error> failure_{};
        std::condition_variable_any changed_{};
    };
    using requests = std::vector<request*>;

    static constexpr std::size_t max_requests = 64;  // of one statement
    static constexpr std::chrono::milliseconds overtaking_after{20};

    explicit combiner(const pool& of);
    combiner(const combiner&) = delete;
    combiner& operator=(const combiner&) = delete;

    // `lend(use)` calls use(connection, store) on a connection, or throws; `together(connection,
    // store, requests)` answers several as far as it can, `alone(connection, store)` this one;
    // `is_answered()` is true when it has its answer. The calling thread may carry others'
    // requests, and others its own: `together` may be called by any of them.
    template <class Lend, class Together, class Alone, class Answered>
    void carry(
        request& mine,
        const bounds& of_call,
        Lend&& lend,
        Together&& together,
        Alone&& alone,
        Answered&& is_answered
    ) {
        bounds within = of_call;
        if (join(mine, within)) {
            bool has_taken = false;
            const auto use = [&](connection& on, store_set& stores) {
                const batch taken = take(mine);
                has_taken = true;
                send(taken, on, [&] { together(on, stores, taken.all); });
                if (!is_answered()) alone(on, stores);
            };
            try {
                lend(within, use);
            } catch (...) {
                if (!has_taken) abdicate(mine);
                throw;
            }
        } else if (!is_answered()) {
            lend(within, alone);
        }
    }

    // The number of requests that have no connection yet, the leader among them.
    std::size_t waiting() {
        const thread_guard guard{mutex_};
        return waiting_.size();
    }
    // For tests: one request is sent as several are; or several are sent one by one.
    enum class way { usual = 0, always = 1, never = 2 };
    void suppose(way every) noexcept { way_ = every; }
    void overtake_after(std::chrono::milliseconds wait) noexcept { overtaking_after_ = wait; }

private:
    struct batch {
        requests all;
        bool is_for_several = false;  // sent in a statement for several; else a single request
    };

    // True: `mine` leads. False: another request carried it. `of_call` keeps the time that is left.
    bool join(request& mine, bounds& of_call);
    bool leads_at_once(request& mine) LEASEHOLD_REQUIRES(mutex_);
    batch take(request& mine);
    void send(const batch& taken, connection& on, const std::function<void()>& together);
    void finish(const batch& taken, const error* failure) noexcept;
    void abdicate(request& mine) noexcept;
    void lead(request& mine) noexcept LEASEHOLD_REQUIRES(mutex_);
    void appoint() noexcept LEASEHOLD_REQUIRES(mutex_);

    const pool& pool_;
    const error unknown_;  // made beforehand: there may be no memory then
    std::atomic<way> way_ = way::usual;
    std::atomic<std::chrono::milliseconds> overtaking_after_{overtaking_after};
    thread_mutex mutex_;
    requests waiting_ LEASEHOLD_GUARDED_BY(mutex_);  // in the order they came in
    int leaders_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
    int under_way_ LEASEHOLD_GUARDED_BY(mutex_) = 0;  // statements for several
};

}  // namespace leasehold
