#include "cli/run/child.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "cli/exit_status.hpp"

namespace leasehold::cli {
namespace {

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

child::child(
    const program& what,
    const inheritance& from,
    local_clock::time_point deadline,
    std::chrono::nanoseconds margin
)
    : name_(what.arguments.front()),
      launch_(what, from),
      guard_(launch_, terminal_, deadline, margin) {}

child::~child() {
    terminal_.take_back();
}

void child::begin() {
    // Otherwise the tool keeps the foreground: the program that writes to its standard input may
    // need the terminal.
    const bool lends = isatty(STDIN_FILENO) == 1 && terminal_.reserve();
    launch_.go(lends);
}

void child::check_begun() {
    const int problem = launch_.outcome().value_or(0);
    if (problem != 0) throw not_executed(name_, problem);
}

void child::signal_group(int number) noexcept {
    if (awaits_all_) {
        guard_.signal_all(0, number);
    } else {
        kill(-guard_.command(), number);
    }
}

descendants::count child::signal_all(int number) noexcept {
    if (awaits_all_) return guard_.signal_all(0, number);
    kill(-guard_.command(), number);
    return guard_.signal_all(guard_.command(), number);
}

void child::follow() {
    while (const auto news = guard_.take()) {
        switch (news->what) {
            case guard::event::stopped: {
                const bool wants_terminal = news->number == SIGTTIN || news->number == SIGTTOU;
                const bool is_asked = wants_terminal && terminal_.exists();
                if (terminal_.is_lent() || is_asked) stop_along(news->number);
                break;
            }
            case guard::event::ended:
                status_ = news->number;
                break;
            case guard::event::all_ended:
                have_all_ended_ = true;
                break;
            case guard::event::gone:
                // The kernel has killed the command then. Its number has just become free, and
                // numbers are used again; but a process that is left in its group keeps the number.
                if (!status_) {
                    kill(-guard_.command(), SIGKILL);
                    status_ = exit_status::by_signal + SIGKILL;
                }
                guard_.kill_rest();
                have_all_ended_ = true;
                return;
            case guard::event::begun:
            case guard::event::not_begun:
                break;
        }
    }
}

// The command was stopped, and the shell waits for the tool, so the tool stops, too. Meanwhile
// nothing renews the lease; if that lasts too long, the guard ends the command.
void child::stop_along(int by_signal) {
    const bool had_terminal = terminal_.is_lent();
    terminal_.take_back();
    const bool only_asks = by_signal != SIGTSTP && !had_terminal && terminal_.is_ours();
    if (!only_asks) static_cast<void>(raise(SIGSTOP));
    if (terminal_.reserve()) terminal_.lend(guard_.command());
    signal_group(SIGCONT);
}

void child::await_all() noexcept {
    if (awaits_all_) return;
    awaits_all_ = true;
    terminal_.take_back();  // no process that is left has its foreground
    guard_.await_all();
}

void child::dismiss() noexcept {
    terminal_.take_back();
    guard_.dismiss();
}

}  // namespace leasehold::cli
