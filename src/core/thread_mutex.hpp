#pragma once
// A mutex for the threads of one process, whose use clang proves: which members are touched only
// with it held, which functions need it held. The std::mutex of GCC's library has no attributes
// that would say so, and leasehold::mutex is for processes.
//
//   thread_mutex mutex_;
//   int lent_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
//   void lend() LEASEHOLD_REQUIRES(mutex_);
//
// Clang reads a lambda as a function of its own, so the condition of a wait says that it needs it,
// too:
//
//   changed_.wait(guard, stop, [&]() LEASEHOLD_REQUIRES(mutex_) { return lent_ == 0; });
//
// The attributes are those of Clang's manual, "Thread Safety Analysis"; other compilers see none.
// .clang-tidy turns the analysis on, and makes its findings errors.
//
// Threads: safe.
#include <mutex>

#ifdef __clang__
#define LEASEHOLD_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define LEASEHOLD_THREAD_SAFETY(attribute)
#endif

// Marks a member that is touched only with that mutex held.
#define LEASEHOLD_GUARDED_BY(mutex) LEASEHOLD_THREAD_SAFETY(guarded_by(mutex))
// Marks a function, after its const and noexcept: called only with these held, or never with them.
#define LEASEHOLD_REQUIRES(...) LEASEHOLD_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define LEASEHOLD_EXCLUDES(...) LEASEHOLD_THREAD_SAFETY(locks_excluded(__VA_ARGS__))

namespace leasehold {

template <class Native>
class LEASEHOLD_THREAD_SAFETY(capability("mutex")) basic_thread_mutex {
public:
    void lock() LEASEHOLD_THREAD_SAFETY(acquire_capability()) { native_.lock(); }
    void unlock() LEASEHOLD_THREAD_SAFETY(release_capability()) { native_.unlock(); }

private:
    template <class>
    friend class thread_guard;
    Native native_;
};

using thread_mutex = basic_thread_mutex<std::mutex>;
using recursive_thread_mutex = basic_thread_mutex<std::recursive_mutex>;

// Holds a mutex for its lifetime, except between its unlock() and lock().
template <class Native>
class LEASEHOLD_THREAD_SAFETY(scoped_lockable) thread_guard {
public:
    explicit thread_guard(basic_thread_mutex<Native>& mutex)
        LEASEHOLD_THREAD_SAFETY(acquire_capability(mutex))
        : native_(mutex.native_) {}
    ~thread_guard() LEASEHOLD_THREAD_SAFETY(release_capability()) = default;
    thread_guard(const thread_guard&) = delete;
    thread_guard& operator=(const thread_guard&) = delete;

    void lock() LEASEHOLD_THREAD_SAFETY(acquire_capability()) { native_.lock(); }
    void unlock() LEASEHOLD_THREAD_SAFETY(release_capability()) { native_.unlock(); }

    // For a wait, before and after which the mutex is held.
    std::unique_lock<Native>& native() noexcept { return native_; }

private:
    std::unique_lock<Native> native_;
};

}  // namespace leasehold
