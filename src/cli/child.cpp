#include "cli/child.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/events.hpp"
#include "cli/exit_status.hpp"

namespace leasehold::cli {
namespace {

// What it is told to go with.
constexpr std::uint64_t word_alone = 1;
constexpr std::uint64_t word_with_terminal = 2;

struct gap {
    unsigned first;
    unsigned last;
};

// Everything execve needs, laid out before fork: between the two, in a process with threads, only
// async-signal-safe calls are allowed, which rules out allocating.
class launch {
public:
    launch(
        const program& what,
        const child::environment& additions,
        const std::vector<int>& keep_open,
        const signal_state& signals
    );
    // Returns only when it failed.
    void run_in_child(int go, int status_pipe, const terminal& lender) noexcept;

    pid_t parent = getpid();

private:
    std::vector<std::string> words_;
    std::vector<char*> arguments_;
    std::vector<char*> shell_arguments_;  // for a script without #!, as shells do it
    std::vector<std::string> settings_;
    std::vector<char*> environment_;
    std::string path_;
    std::vector<gap> gaps_;
    const signal_state signals_;
};

// A variable by which the tool may have been told one.
bool tells_password(std::string_view variable) {
    constexpr std::array<std::string_view, 3> names{"LEASEHOLD_URL=", "MYSQL_PWD=", "PGPASSWORD="};
    return std::any_of(names.begin(), names.end(), [&](std::string_view each) {
        return variable.starts_with(each);
    });
}

launch::launch(
    const program& what,
    const child::environment& additions,
    const std::vector<int>& keep_open,
    const signal_state& signals
)
    : words_(what.arguments), path_(what.path), signals_(signals) {
    shell_arguments_ = {const_cast<char*>("/bin/sh"), path_.data()};
    for (std::string& each : words_) arguments_.push_back(each.data());
    shell_arguments_.insert(shell_arguments_.end(), arguments_.begin() + 1, arguments_.end());
    for (const auto& [name, value] : additions) {
        settings_.push_back(name);
        settings_.back().append("=").append(value);
    }
    for (char** each = environ; *each; ++each) {
        const std::string_view given{*each};
        const bool is_replaced =
            std::any_of(additions.begin(), additions.end(), [&](const auto& addition) {
                return given.starts_with(addition.first + "=");
            });
        const bool is_withheld = !what.gets_passwords && tells_password(given);
        if (!is_replaced && !is_withheld) environment_.push_back(*each);
    }
    for (std::string& each : settings_) environment_.push_back(each.data());
    for (auto* list : {&arguments_, &shell_arguments_, &environment_}) list->push_back(nullptr);
    unsigned next = 3;
    for (const int each : keep_open) {
        const auto number = static_cast<unsigned>(each);
        if (number > next) gaps_.push_back({next, number - 1});
        next = number + 1;
    }
    gaps_.push_back({next, UINT_MAX});
}

void launch::run_in_child(int go, int status_pipe, const terminal& lender) noexcept {
    const auto give_up = [&] {
        const int problem = errno;
        [[maybe_unused]] const auto written = write(status_pipe, &problem, sizeof problem);
    };
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(exit_status::lease_lost);  // it died before it could be watched
    std::uint64_t word = 0;
    while (read(go, &word, sizeof word) < 0) {
        if (errno != EINTR) return give_up();
    }
    if (word == word_with_terminal) lender.lend(getpid());
    for (const gap& each : gaps_) {
        syscall(SYS_close_range, each.first, each.last, CLOSE_RANGE_CLOEXEC);
    }
    signals_.restore();
    execve(path_.c_str(), arguments_.data(), environment_.data());
    if (errno == ENOEXEC) {
        execve(shell_arguments_[0], shell_arguments_.data(), environment_.data());
    }
    give_up();
}

failure not_executed(const std::string& name, int problem) {
    const bool is_missing = problem == ENOENT;
    const std::string reason = is_missing ? "it, or the interpreter it names, was not found"
                                          : std::generic_category().message(problem);
    return failure{
        is_missing ? exit_status::not_found : exit_status::not_executable,
        is_missing ? "command_not_found" : "command_not_executable",
        "the command '" + name + "' cannot be run: " + reason + "; the key was released"};
}

}  // namespace

std::vector<int> inherited_descriptors() {
    std::vector<int> found;
    std::error_code missing;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd", missing}) {
        const int number = std::stoi(each.path().filename().string());
        const int flags = fcntl(number, F_GETFD);
        // The folder's own descriptor is in the list, and closed at exec.
        if (number > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) == 0) {
            found.push_back(number);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

// ---------------------------------------------------------------------------------- the terminal

terminal::terminal() : device_(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {}

bool terminal::is_ours() const noexcept {
    return exists() && tcgetpgrp(device_.number()) == getpgrp();
}

void terminal::take_back() noexcept {
    if (std::exchange(is_lent_, false)) lend(getpgrp());
}

// ------------------------------------------------------------------------------------- the child

child::child(
    const program& what,
    const environment& additions,
    const std::vector<int>& keep_open,
    const signal_state& signals
)
    : name_(what.arguments.front()) {
    go_ = descriptor{eventfd(0, EFD_CLOEXEC)};
    if (go_.number() < 0) fail("eventfd");
    launch prepared{what, additions, keep_open, signals};
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
    problem_ = descriptor{ends[0]};
    const descriptor writing{ends[1]};
    if (fcntl(problem_.number(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
    pid_ = fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
        prepared.run_in_child(go_.number(), writing.number(), terminal_);
        _exit(exit_status::not_executable);
    }
    setpgid(pid_, pid_);  // whoever comes first
}

void child::begin() {
    // Elsewhere the tool stays in front: what feeds it through a pipe may need the terminal.
    const bool lends = isatty(STDIN_FILENO) == 1 && terminal_.reserve();
    const std::uint64_t word = lends ? word_with_terminal : word_alone;
    if (write(go_.number(), &word, sizeof word) < 0) fail("write");
}

void child::check_begun() {
    if (problem_.number() < 0) return;
    int problem = 0;
    const auto got = read(problem_.number(), &problem, sizeof problem);
    if (got < 0) return;  // nothing was said yet
    problem_.close();
    if (got == sizeof problem) throw not_executed(name_, problem);
}

child::~child() {
    if (pid_ <= 0 || is_reaped_) return;
    signal_group(SIGKILL);
    reap();
}

void child::signal_group(int number) const noexcept {
    kill(-pid_, number);
}

bool child::group_lives() const noexcept {
    return kill(-pid_, 0) == 0;
}

void child::follow() {
    if (is_reaped_) return;
    siginfo_t seen{};
    const auto id = static_cast<id_t>(pid_);
    if (waitid(P_PID, id, &seen, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0) return;
    if (seen.si_pid == 0) return;
    if (seen.si_code != CLD_STOPPED) {
        has_ended_ = true;
        return;
    }
    waitid(P_PID, id, &seen, WSTOPPED | WNOHANG);
    const bool wants_terminal = seen.si_status == SIGTTIN || seen.si_status == SIGTTOU;
    if (terminal_.is_lent() || (wants_terminal && terminal_.exists())) stop_along(seen.si_status);
}

// The command was stopped, but the shell waits for us: stop, too. While stopped nothing renews the
// lease; the guard stops the command should that last too long.
void child::stop_along(int by_signal) {
    const bool had_terminal = terminal_.is_lent();
    terminal_.take_back();
    const bool only_asks = by_signal != SIGTSTP && !had_terminal && terminal_.is_ours();
    if (!only_asks) static_cast<void>(raise(SIGSTOP));
    if (terminal_.reserve()) terminal_.lend(pid_);
    signal_group(SIGCONT);
}

int child::reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    is_reaped_ = has_ended_ = true;
    terminal_.take_back();
    return WIFSIGNALED(status) ? exit_status::by_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace leasehold::cli
