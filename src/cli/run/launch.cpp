#include "cli/run/launch.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "cli/exit_status.hpp"
#include "cli/open_numbers.hpp"

namespace leasehold::cli {
namespace {

// The message that starts it.
constexpr std::uint64_t word_alone = 1;
constexpr std::uint64_t word_with_terminal = 2;

// Tells a script without #! from a program of another kind of machine, as shells do: the first line
// has no NUL in it. Keeps errno; async-signal-safe.
bool is_text(const char* path) noexcept {
    const int problem = errno;
    std::array<char, 128> first{};
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);  // NOLINT(*-vararg)
    const auto count = file < 0 ? 0 : read(file, first.data(), first.size());
    if (file >= 0) close(file);
    errno = problem;
    const char* const begin = first.data();
    const char* const line_end = std::find(begin, begin + std::max<ssize_t>(count, 0), '\n');
    return std::find(begin, line_end, '\0') == line_end;
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

launch::launch(const program& what, const inheritance& from)
    : words_(what.arguments),
      path_(what.path),
      streams_(from.streams),
      signals_(from.signals),
      is_apart_(from.is_apart) {
    shell_arguments_ = {const_cast<char*>("/bin/sh"), path_.data()};
    for (std::string& each : words_) arguments_.push_back(each.data());
    shell_arguments_.insert(shell_arguments_.end(), arguments_.begin() + 1, arguments_.end());
    for (const auto& [name, value] : from.additions) {
        settings_.push_back(name);
        settings_.back().append("=").append(value);
    }
    const auto& additions = from.additions;
    const auto& withheld = what.withheld;
    for (char** each = environ; *each; ++each) {
        const std::string_view given{*each};
        const std::string_view name = given.substr(0, given.find('='));
        const auto is_it = [name](const auto& addition) { return addition.first == name; };
        const bool is_replaced = std::any_of(additions.begin(), additions.end(), is_it);
        const bool is_withheld =
            std::find(withheld.begin(), withheld.end(), name) != withheld.end();
        if (!is_replaced && !is_withheld) environment_.push_back(*each);
    }
    for (std::string& each : settings_) environment_.push_back(each.data());
    for (auto* list : {&arguments_, &shell_arguments_, &environment_}) list->push_back(nullptr);
    unsigned next = 3;
    for (const int each : what.keep_open) {
        const auto number = static_cast<unsigned>(each);
        if (number > next) gaps_.push_back({next, number - 1});
        next = number + 1;
    }
    gaps_.push_back({next, UINT_MAX});
    go_ = descriptor{eventfd(0, EFD_CLOEXEC)};
    if (go_.number() < 0) fail("eventfd");
    make_patient(problem_.reading);
}

void launch::run(pid_t parent, const terminal& lender) noexcept {
    const auto give_up = [&] {
        const int problem = errno;
        [[maybe_unused]] const auto written =
            write(problem_.writing.number(), &problem, sizeof problem);
    };
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(exit_status::lease_lost);  // it died before it could be watched
    std::uint64_t word = 0;
    while (read(go_.number(), &word, sizeof word) < 0) {
        if (errno != EINTR) return give_up();
    }
    if (word == word_with_terminal) lender.lend(getpid());
    for (const auto& [here, there] : streams_) {
        if (dup2(here, there) < 0) return give_up();
    }
    for (const gap& each : gaps_) close_all_at_exec(each.first, each.last);
    signals_.restore();
    execve(path_.c_str(), arguments_.data(), environment_.data());
    if (errno == ENOEXEC && is_text(path_.c_str())) {
        execve(shell_arguments_[0], shell_arguments_.data(), environment_.data());
    }
    give_up();
}

void launch::go(bool with_terminal) const {
    const std::uint64_t word = with_terminal ? word_with_terminal : word_alone;
    if (write(go_.number(), &word, sizeof word) < 0) fail("write");
}

std::optional<int> launch::outcome() noexcept {
    if (problem_.reading.number() < 0) return 0;
    int problem = 0;
    const auto got = read(problem_.reading.number(), &problem, sizeof problem);
    if (got < 0) return std::nullopt;
    problem_.reading.close();
    return got == sizeof problem ? problem : 0;
}

}  // namespace leasehold::cli
