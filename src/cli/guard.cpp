#include "cli/guard.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <new>
#include <stdexcept>

namespace leasehold::cli {
namespace {

local_clock::time_point at(std::int64_t nanoseconds) {
    return local_clock::time_point{std::chrono::nanoseconds{nanoseconds}};
}

}  // namespace

guard::guard(pid_t group, local_clock::time_point deadline, std::chrono::nanoseconds margin) {
    void* const page =
        mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) fail("mmap");
    board_ = new (page) board{deadline.time_since_epoch().count(), false};
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    descriptor theirs{ends[0]};
    lifeline_ = descriptor{ends[1]};
    pid_ = fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) keep(*board_, group, margin, theirs.number());
    theirs.close();
    char word = 0;
    ssize_t got = 0;
    do {
        got = read(lifeline_.number(), &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) {
        retire();
        throw std::runtime_error{"the process that guards the command did not start"};
    }
}

guard::~guard() {
    retire();
    munmap(board_, sizeof(board));
}

void guard::renew(local_clock::time_point deadline) noexcept {
    board_->deadline = deadline.time_since_epoch().count();
}

void guard::retire() noexcept {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

// Runs in a process forked from one with threads: async-signal-safe calls only.
void guard::keep(board& shared, pid_t group, std::chrono::nanoseconds margin, int lifeline) {
    setsid();  // no signal from the terminal or to the tool's group reaches it
    prctl(PR_SET_NAME, "leasehold-guard");
    // Nothing of the tool's stays open here: not its end of the socket, no connection, no output.
    dup2(lifeline, 0);
    syscall(SYS_close_range, 1U, UINT_MAX, 0U);
    if (write(0, "", 1) != 1) _exit(0);  // from here on nothing that stops the tool stops this
    // A timer of the lease's own clock: poll's time-out stands still during suspend.
    const int timer = timerfd_create(CLOCK_BOOTTIME, 0);
    while (true) {
        const auto now = local_clock::now();
        const auto deadline = at(shared.deadline);
        // A little after the tool's own time, so that it is the tool which stops the command
        // unless it cannot.
        const auto tell_time = deadline + margin / 4;
        if (now >= kill_time(deadline, margin)) {
            shared.is_told = true;
            kill(-group, SIGKILL);
            _exit(0);
        }
        if (now >= tell_time && !shared.is_told.exchange(true)) kill(-group, SIGTERM);
        const auto next = now < tell_time ? tell_time : kill_time(deadline, margin);
        const auto nanoseconds = next.time_since_epoch().count();
        const itimerspec alarm{{}, {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000}};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &alarm, nullptr);
        pollfd sources[2]{{0, POLLIN, 0}, {timer, POLLIN, 0}};
        poll(sources, 2, -1);
        if (sources[0].revents != 0) {
            kill(-group, SIGKILL);
            _exit(0);
        }
    }
}

}  // namespace leasehold::cli
