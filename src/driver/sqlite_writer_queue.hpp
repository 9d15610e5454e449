#pragma once
// Writers of one database handle wait for each other here, first come, first served, and only the
// first of them asks for the file's write lock: SQLite has no queue of its own, and a writer that
// asks again and again after naps has it by luck (sqlite_nap.hpp). With sixteen threads one in a
// hundred grants took 120 ms, sixty times the usual. It is a hint: a writer that has waited for
// long enough asks as well, so that a heartbeat is not behind one that waits for another process.
//
// Threads: safe.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "core/this_thread.hpp"
#include "core/thread_mutex.hpp"
#include "core/timed_wait.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::sqlite {

class writer_queue {
public:
    // Waits for the writers that came before. False, without entering, if `until` comes first or
    // has come.
    bool enter(local_clock::time_point until) {
        thread_guard guard{mutex_};
        const auto mine = waiting_.emplace(waiting_.end());
        const auto is_first = [&]() LEASEHOLD_REQUIRES(mutex_) { return mine == waiting_.begin(); };
        if (wait_until(guard, mine->changed, {}, until, is_first)) return true;
        waiting_.erase(mine);
        return false;
    }

    // Called by the first writer.
    void leave() noexcept {
        const thread_guard guard{mutex_};
        waiting_.pop_front();
        if (!waiting_.empty()) waiting_.front().changed.notify_all();
    }

    // The first writer is a transaction of the program's own: it belongs to the thread that used it
    // last.
    void note_thread() {
        const thread_guard guard{mutex_};
        waiting_.front().thread = this_thread_number();
    }

    // True if the first writer is such a transaction of this thread, which would wait for itself.
    bool is_of_this_thread() {
        const thread_guard guard{mutex_};
        return !waiting_.empty() && waiting_.front().thread == this_thread_number();
    }

    // The number of writers that have entered, or wait to.
    std::size_t size() {
        const thread_guard guard{mutex_};
        return waiting_.size();
    }

private:
    struct place {
        std::condition_variable_any changed{};
        std::uint64_t thread = 0;  // 0: it is a call of the library's, which ends by itself
    };

    thread_mutex mutex_;
    std::list<place> waiting_ LEASEHOLD_GUARDED_BY(mutex_);  // the first one writes
};

// One connection's place in the queue, from the beginning of a transaction to its end.
class writer_place {
public:
    explicit writer_place(std::shared_ptr<writer_queue> of) : queue_(std::move(of)) {}
    ~writer_place() { leave(); }
    writer_place(const writer_place&) = delete;
    writer_place& operator=(const writer_place&) = delete;

    void enter(local_clock::time_point until) {
        if (queue_ && !is_taken_) is_taken_ = queue_->enter(until);
    }
    void leave() noexcept {
        if (std::exchange(is_taken_, false)) queue_->leave();
    }
    void note_thread() const {
        if (is_taken_) queue_->note_thread();
    }
    // True if another connection's place is the first, and belongs to this thread.
    bool is_behind_this_thread() const {
        return queue_ && !is_taken_ && queue_->is_of_this_thread();
    }

private:
    const std::shared_ptr<writer_queue> queue_;  // null on a borrowed connection
    bool is_taken_ = false;
};

}  // namespace leasehold::sqlite
