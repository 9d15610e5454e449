#include "cli/run/guard.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <new>
#include <stdexcept>
#include <utility>

#include "cli/exit_status.hpp"
#include "cli/open_numbers.hpp"

namespace leasehold::cli {
namespace {

// The messages of the tool to its guard.
constexpr char word_await_all = 'a';
constexpr char word_dismiss = 'd';
constexpr char word_earlier = 'e';  // the deadline is earlier than before

local_clock::time_point at(std::int64_t nanoseconds) {
    return local_clock::time_point{std::chrono::nanoseconds{nanoseconds}};
}

// They may have children while we look. A process in a call that cannot be interrupted has the
// signal, and ends with that call.
template <class Reap>
void kill_until_nobody(descendants& family, pid_t root, Reap reap) noexcept {
    constexpr int max_tries = 2000;
    constexpr int pause_milliseconds = 1;
    for (int tries = 0; tries < max_tries; ++tries) {
        reap();
        if (family.signal(root, 0, SIGKILL).reached == 0) break;
        poll(nullptr, 0, pause_milliseconds);
    }
    reap();
}

bool has_children() noexcept {
    siginfo_t ignored{};
    return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

// The guard's process, forked from one with threads: async-signal-safe calls only.
class guard::keeper {
public:
    keeper(board& shared, descendants& family, std::chrono::nanoseconds margin)
        : shared_(shared), family_(family), margin_(margin) {}

    [[noreturn]] void run(launch& what, const terminal& lender, int lifeline) {
        // No signal from the terminal or to the tool's group reaches it. The command is in its
        // session: in one of its own it has no terminal, as one that does a job is to have none,
        // which nobody would give it back.
        if (!what.is_apart() || setsid() < 0) setpgid(0, 0);
        prctl(PR_SET_NAME, "leasehold-guard");
        is_subreaper_ = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
        const int problem = begin(what, lender);
        // Nothing of the tool's stays open here: not its end of the socket, no connection, no
        // output.
        dup2(lifeline, lifeline_);
        close_all(1, UINT_MAX);
        if (command_ < 0) {
            say(event::not_begun, problem);
            _exit(0);
        }
        sigset_t of_children;
        sigemptyset(&of_children);
        sigaddset(&of_children, SIGCHLD);  // the tool has it blocked
        const int children = signalfd(-1, &of_children, SFD_NONBLOCK);
        // A timer of the lease's own clock: poll's time-out stands still during suspend.
        timer_ = timerfd_create(CLOCK_BOOTTIME, 0);
        say(event::begun, command_);  // from here on nothing that stops the tool stops this
        while (true) {
            heed_deadline();
            pollfd sources[3]{{lifeline_, POLLIN, 0}, {timer_, POLLIN, 0}, {children, POLLIN, 0}};
            poll(sources, 3, -1);
            signalfd_siginfo ignored{};
            while (read(children, &ignored, sizeof ignored) > 0) {
            }
            reap();
            if (sources[0].revents != 0) listen();
        }
    }

private:
    static constexpr int lifeline_ = 0;

    // Forks again, in a process with one thread: the same calls are allowed as after the first
    // fork. Answers with errno.
    int begin(launch& what, const terminal& lender) {
        const pid_t self = getpid();
        command_ = fork();
        if (command_ == 0) {
            what.run(self, lender);
            _exit(exit_status::not_executable);
        }
        const int problem = errno;
        if (command_ > 0) setpgid(command_, command_);  // the child does the same
        return problem;
    }

    static void say(event what, int number) {
        const news word{what, number};
        send(lifeline_, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
    }

    void heed_deadline() {
        if (has_killed_) return;
        const auto now = local_clock::now();
        const auto deadline = at(shared_.deadline);
        // A little after the tool's own time, so that it is the tool which stops the command
        // unless it cannot.
        const auto tell_time = deadline + margin_ / 4;
        const auto kill_at = kill_time(deadline, margin_);
        if (now >= kill_at) {
            shared_.is_told = true;
            kill_all();
            return;
        }
        if (now >= tell_time && !shared_.is_told.exchange(true)) {
            const pid_t group = group_to_signal(SIGTERM);
            family_.signal(getpid(), group, SIGTERM);
        }
        const auto next = now < tell_time ? tell_time : kill_at;
        const auto nanoseconds = next.time_since_epoch().count();
        const itimerspec alarm{{}, {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000}};
        timerfd_settime(timer_, TFD_TIMER_ABSTIME, &alarm, nullptr);
    }

    // Signals the command's group at once, while its number is still its own: no search is needed.
    // If orphans do not come to us it looks for all processes first, while they have their parents.
    pid_t group_to_signal(int number) const {
        if (awaits_all_ || !is_subreaper_) return 0;
        kill(-command_, number);
        return command_;
    }

    void kill_all() {
        has_killed_ = true;
        group_to_signal(SIGKILL);
        kill_until_nobody(family_, getpid(), [this] { reap(); });
        const itimerspec never{};
        timerfd_settime(timer_, 0, &never, nullptr);
    }

    void listen() {
        char word = 0;
        const auto got = recv(lifeline_, &word, 1, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got == 1 && word == word_earlier) return;  // heed_deadline() comes next
        if (got == 1 && word == word_await_all) {
            awaits_all_ = true;
            reap();
            return;
        }
        const bool is_dismissed = got == 1 && word == word_dismiss;
        if (!is_dismissed) kill_all();  // the tool is gone
        // Reaps the command: nobody else may be there to, as in a container without an init.
        waitpid(command_, nullptr, WNOHANG);
        _exit(0);
    }

    void reap() {
        if (!has_ended_) look_at_command();
        siginfo_t seen{};
        while (waitid(P_ALL, 0, &seen, WEXITED | WNOHANG | WNOWAIT) == 0) {
            if (seen.si_pid == 0) return;  // there are children, and they live
            // Its number stays taken, so that its group can be signalled safely. Processes that
            // ended after it wait.
            if (seen.si_pid == command_ && !awaits_all_) return;
            waitpid(seen.si_pid, nullptr, 0);
            seen = {};
        }
        if (awaits_all_ && !std::exchange(has_said_all_, true)) say(event::all_ended, 0);
    }

    void look_at_command() {
        const auto id = static_cast<id_t>(command_);
        siginfo_t seen{};
        if (waitid(P_PID, id, &seen, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0) return;
        if (seen.si_pid == 0) return;
        if (seen.si_code == CLD_STOPPED) {
            waitid(P_PID, id, &seen, WSTOPPED | WNOHANG);
            say(event::stopped, seen.si_status);
            return;
        }
        has_ended_ = true;
        const bool by_signal = seen.si_code != CLD_EXITED;
        say(event::ended, by_signal ? exit_status::by_signal + seen.si_status : seen.si_status);
    }

    board& shared_;
    descendants& family_;
    const std::chrono::nanoseconds margin_;
    int timer_ = -1;
    pid_t command_ = -1;
    bool is_subreaper_ = false;
    bool has_ended_ = false;
    bool has_killed_ = false;
    bool awaits_all_ = false;
    bool has_said_all_ = false;
};

guard::guard(
    launch& what,
    const terminal& lender,
    local_clock::time_point deadline,
    std::chrono::nanoseconds margin,
    siblings beside
) {
    void* const page =
        mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) fail("mmap");
    board_ = new (page) board{deadline.time_since_epoch().count(), false};
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    descriptor theirs{ends[0]};
    lifeline_ = descriptor{ends[1]};
    if (beside == siblings::none) adopt();
    pid_ = fork();
    if (pid_ < 0) {
        stop_adopting();
        fail("fork");
    }
    if (pid_ == 0) {
        lifeline_.close();  // or the command would have the tool's end, and keep it open
        keeper{*board_, family_, margin}.run(what, lender, theirs.number());
    }
    theirs.close();
    what.keep_reading_end();
    news first{event::gone, 0};
    ssize_t got = 0;
    do {
        got = recv(lifeline_.number(), &first, sizeof first, 0);
    } while (got < 0 && errno == EINTR);
    if (got == sizeof first && first.what == event::begun) {
        command_ = first.number;
        return;
    }
    leave();
    stop_adopting();
    munmap(board_, sizeof(board));
    errno = first.number;
    if (first.what == event::not_begun) fail("fork");
    throw std::runtime_error{"the process that guards the command did not start"};
}

guard::~guard() {
    if (leave() == ended::killed) kill_rest();
    stop_adopting();
    munmap(board_, sizeof(board));
}

descendants::count guard::signal_all(pid_t spared, int number) noexcept {
    return family_.signal(pid_, spared, number);
}

std::optional<guard::news> guard::take() noexcept {
    news next{event::gone, 0};
    const auto got = recv(lifeline_.number(), &next, sizeof next, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (got == sizeof next) return next;
    return news{event::gone, 0};
}

void guard::renew(local_clock::time_point deadline) noexcept {
    const auto at = deadline.time_since_epoch().count();
    const auto before = board_->deadline.exchange(at);
    // Somebody may have stopped the guard, and no renewal waits: the words that it has suffice.
    if (at < before) send(lifeline_.number(), &word_earlier, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard::await_all() noexcept {
    send(lifeline_.number(), &word_await_all, 1, MSG_NOSIGNAL);
}

void guard::dismiss() noexcept {
    stop_adopting();  // processes that live on are to get another parent
    send(lifeline_.number(), &word_dismiss, 1, MSG_NOSIGNAL);
    leave();
}

void guard::kill_rest() noexcept {
    leave();
    if (!adopts_) return;
    kill_until_nobody(family_, getpid(), [] {
        while (waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    });
    stop_adopting();
}

void guard::adopt() noexcept {
    adopts_ = !has_children() && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

void guard::stop_adopting() noexcept {
    if (std::exchange(adopts_, false)) prctl(PR_SET_CHILD_SUBREAPER, 0);
}

guard::ended guard::leave() noexcept {
    if (pid_ <= 0) return ended::by_itself;
    lifeline_.close();
    kill(pid_, SIGCONT);  // somebody may have stopped it
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? ended::killed : ended::by_itself;
}

}  // namespace leasehold::cli
