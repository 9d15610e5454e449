#include "support/test_time.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "core/clock_source.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A thread that has come back from a wait, or was told to look at what it waits for, and does not
// wait again after so long is taken to be blocked, or gone.
constexpr milliseconds blocked_after{100};
constexpr milliseconds nap{2};

class moved_clock final : public clock_source {
public:
    local_clock::time_point now(local_clock::time_point of_machine) const noexcept override {
        return of_machine + local_clock::duration{added_.load()};
    }

    void wait(
        std::unique_lock<std::mutex>& guard,
        std::condition_variable_any& changed,
        local_clock::time_point deadline,
        const std::function<bool()>& is_over
    ) override {
        if (is_over()) return;
        if (is_driver()) {
            guard.unlock();
            const relock again{guard};
            drive(deadline, [&] {
                const std::lock_guard asking{*guard.mutex()};
                return is_over();
            });
            return;
        }
        const waiting here{*this, deadline, changed};
        while (true) {
            const auto round = here.round();
            if (is_over() || local_clock::now() >= deadline) return;
            here.has_looked_in(round);
            changed.wait_for(guard, nap);
        }
    }

    void begin() {
        std::unique_lock guard{mutex_};
        driver_ = std::this_thread::get_id();
        // The system counts a thread that was joined for a moment longer. Its end would hide that a
        // new one has been started.
        const auto began = steady_clock::now();
        while ((strangers_ = count_strangers()) > usual_ &&
               steady_clock::now() < began + blocked_after) {
            settled_.wait_for(guard, milliseconds{1});
        }
        usual_ = strangers_;
        clock_source::install(this);
    }
    void end() {
        const std::lock_guard guard{mutex_};
        driver_ = {};
        clock_source::install(nullptr);
    }
    void add(local_clock::duration by) {
        const std::lock_guard guard{mutex_};
        added_ += by.count();
        wake_all();
    }
    bool is_driver() const {
        const std::lock_guard guard{mutex_};
        return driver_ == std::this_thread::get_id();
    }
    void meet() {
        const std::lock_guard guard{mutex_};
        ++acquaintances_;
    }
    void part_from(std::thread::id which) {
        const std::lock_guard guard{mutex_};
        awake_.erase(which);
        --acquaintances_;
    }

private:
    struct sleeper {
        local_clock::time_point deadline;
        std::condition_variable_any* changed;
        std::uint64_t looked_in;  // the last round in which what it waits for did not hold
    };

    // A wait of a thread that does not move time.
    class waiting {
    public:
        waiting(
            moved_clock& of, local_clock::time_point deadline, std::condition_variable_any& changed
        )
            : of_(of) {
            note_life();
            const std::lock_guard guard{of_.mutex_};
            at_ = of_.sleepers_.insert(of_.sleepers_.end(), {deadline, &changed, 0});
            of_.awake_.erase(std::this_thread::get_id());
        }
        waiting(const waiting&) = delete;
        waiting& operator=(const waiting&) = delete;
        ~waiting() {
            const std::lock_guard guard{of_.mutex_};
            of_.sleepers_.erase(at_);
            of_.awake_[std::this_thread::get_id()] = steady_clock::now();
            of_.settled_.notify_all();
        }

        std::uint64_t round() const {
            const std::lock_guard guard{of_.mutex_};
            return of_.round_;
        }
        void has_looked_in(std::uint64_t round) const {
            const std::lock_guard guard{of_.mutex_};
            at_->looked_in = round;
            of_.settled_.notify_all();
        }

    private:
        static void note_life();

        moved_clock& of_;
        std::list<sleeper>::iterator at_;
    };

    struct relock {
        explicit relock(std::unique_lock<std::mutex>& which) : guard(which) {}
        relock(const relock&) = delete;
        relock& operator=(const relock&) = delete;
        ~relock() { guard.lock(); }
        std::unique_lock<std::mutex>& guard;
    };

    void drive(local_clock::time_point deadline, const std::function<bool()>& is_over) {
        while (true) {
            if (!settle(is_over) || is_over() || local_clock::now() >= deadline) return;
            go_on_to_the_next(deadline);
        }
    }

    // Until all others wait, and for nothing that has come already; false where it is over before.
    bool settle(const std::function<bool()>& is_over) {
        std::unique_lock guard{mutex_};
        const auto began = steady_clock::now();
        const auto round = ++round_;
        wake_all();
        while (!do_all_wait(round, began)) {
            settled_.wait_for(guard, milliseconds{1});
            guard.unlock();
            if (is_over()) return false;
            guard.lock();
        }
        return true;
    }

    // The callers of this, and of the functions below, hold mutex_.
    bool do_all_wait(std::uint64_t round, steady_clock::time_point began) {
        const auto long_ago = steady_clock::now() - blocked_after;
        std::erase_if(awake_, [&](const auto& each) { return each.second <= long_ago; });
        // A thread that has just been started is on its way to its first wait.
        const auto strangers = count_strangers();
        if (strangers < strangers_ || began <= long_ago) strangers_ = strangers;
        if (!awake_.empty() || strangers > strangers_) return false;
        return began <= long_ago || std::all_of(sleepers_.begin(), sleepers_.end(), [&](auto& at) {
                   return at.looked_in >= round;
               });
    }
    // Threads of the process that have not waited yet.
    std::int64_t count_strangers() const {
        struct stat threads {};
        if (stat("/proc/self/task", &threads) != 0) return 0;
        return static_cast<std::int64_t>(threads.st_nlink) - acquaintances_;
    }
    void wake_all() {
        for (const sleeper& each : sleepers_) each.changed->notify_all();
    }

    void go_on_to_the_next(local_clock::time_point deadline) {
        std::unique_lock guard{mutex_};
        auto next = deadline;
        for (const sleeper& each : sleepers_) next = std::min(next, each.deadline);
        const auto left = next - local_clock::now();
        if (next == local_clock::time_point::max() || left <= local_clock::duration{0}) {
            settled_.wait_for(guard, milliseconds{1});
            return;
        }
        added_ += left.count();
    }

    std::atomic<local_clock::rep> added_ = 0;  // never less, or a thread would see time go back

    mutable std::mutex mutex_;
    std::condition_variable settled_;
    std::thread::id driver_;
    std::uint64_t round_ = 0;
    std::list<sleeper> sleepers_;
    std::map<std::thread::id, steady_clock::time_point> awake_;  // since when
    std::int64_t acquaintances_ = 0;                             // threads that have waited
    std::int64_t strangers_ = 0;                                 // that do not count
    std::int64_t usual_ = 1;                                     // of these; the first is main()'s
};

// Never destroyed: a thread that a session has left to itself may come back from a wait.
moved_clock& the_clock() {
    static auto* const only = new moved_clock;
    return *only;
}

// A thread that has ended does not wait again.
void moved_clock::waiting::note_life() {
    struct life {
        life() { the_clock().meet(); }
        life(const life&) = delete;
        life& operator=(const life&) = delete;
        ~life() { the_clock().part_from(std::this_thread::get_id()); }
    };
    thread_local const life of_thread;
}

}  // namespace

test_time::test_time() {
    the_clock().begin();
}
test_time::~test_time() {
    the_clock().end();
}

bool test_time::is_moved_here() {
    return the_clock().is_driver();
}

void test_time::advance(std::chrono::nanoseconds by) {
    the_clock().add(by);
}

}  // namespace leasehold::testing
