#include "core/broken_pipe.hpp"

#include <cerrno>
#include <ctime>

namespace leasehold {
namespace {

sigset_t broken_pipe() noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

bool is_pending() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

}  // namespace

broken_pipe_guard::broken_pipe_guard() noexcept : was_pending_(is_pending()) {
    const sigset_t set = broken_pipe();
    sigset_t before;
    sigemptyset(&before);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    was_blocked_ = sigismember(&before, SIGPIPE) == 1;
}

broken_pipe_guard::~broken_pipe_guard() {
    const sigset_t set = broken_pipe();
    constexpr timespec no_time{};
    while (!was_pending_ && is_pending()) {
        if (sigtimedwait(&set, nullptr, &no_time) == SIGPIPE || errno != EINTR) break;
    }
    if (!was_blocked_) pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace leasehold
