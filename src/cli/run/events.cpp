#include "cli/run/events.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <vector>

namespace leasehold::cli {
namespace {

constexpr std::array<int, 6> passed_on{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// True if a signal comes so soon after the last one that it counts as the same request.
bool is_repeated(std::optional<local_clock::time_point>& last) {
    constexpr std::chrono::seconds apart{1};
    const auto now = local_clock::now();
    if (last && now - *last < apart) return true;
    last = now;
    return false;
}

}  // namespace

void fail(const char* call) {
    throw std::system_error{errno, std::generic_category(), call};
}

descriptor::~descriptor() {
    close();
}

void descriptor::close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
}

pipe_ends::pipe_ends() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
    reading = descriptor{ends[0]};
    writing = descriptor{ends[1]};
}

void make_patient(const descriptor& end) {
    if (fcntl(end.number(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
}

std::optional<std::size_t> wait_for(
    std::initializer_list<int> sources, std::chrono::nanoseconds max_wait
) {
    std::vector<pollfd> all;
    all.reserve(sources.size());
    for (const int each : sources) all.push_back({each, POLLIN, 0});
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(max_wait);
    const timespec limit{whole.count(), static_cast<long>((max_wait - whole).count())};
    const int ready = ppoll(all.data(), all.size(), &limit, nullptr);
    if (ready < 0 && errno != EINTR) fail("ppoll");
    if (ready <= 0) return std::nullopt;
    const auto first =
        std::find_if(all.begin(), all.end(), [](const pollfd& each) { return each.revents != 0; });
    return static_cast<std::size_t>(first - all.begin());
}

signal_state::signal_state() noexcept {
    pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
    sigemptyset(&ignored_);
    for (int each = 1; each <= SIGRTMAX; ++each) {
        struct sigaction found {};
        if (sigaction(each, nullptr, &found) != 0) continue;  // one that the C library keeps
        if (found.sa_handler == SIG_IGN) sigaddset(&ignored_, each);
    }
}

void signal_state::restore() const noexcept {
    for (int each = 1; each <= SIGRTMAX; ++each) {
        struct sigaction wanted {};
        wanted.sa_handler = ignores(each) ? SIG_IGN : SIG_DFL;
        sigaction(each, &wanted, nullptr);
    }
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

signal_inbox::signal_inbox() {
    sigset_t taken;
    sigemptyset(&taken);
    for (const int each : passed_on) {
        // Signals that our parent made us ignore, by nohup for instance, stay ignored.
        if (!outside_.ignores(each)) sigaddset(&taken, each);
    }
    // Were SIGCHLD ignored, the kernel would keep no exit status for us.
    struct sigaction as_usual {};
    as_usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &as_usual, nullptr);
    struct sigaction as_nothing {};
    as_nothing.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &as_nothing, &broken_pipe_before_);
    sigaddset(&taken, SIGCHLD);
    sigset_t blocked = taken;
    sigaddset(&blocked, SIGTTOU);  // taking the terminal back, and writing to it, must not stop us
    if (pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_) != 0) fail("pthread_sigmask");
    source_ = descriptor{signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (source_.number() < 0) fail("signalfd");
}

signal_inbox::~signal_inbox() {
    while (take()) {
    }
    sigaction(SIGPIPE, &broken_pipe_before_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<int> signal_inbox::take() {
    signalfd_siginfo found{};
    while (read(source_.number(), &found, sizeof found) == sizeof found) {
        const auto number = static_cast<int>(found.ssi_signo);
        // Other signals count each time: a program reads its settings at each HUP.
        const bool asks_to_end = number == SIGTERM || number == SIGINT;
        if (!asks_to_end || !is_repeated(taken_at_.at(found.ssi_signo))) return number;
    }
    return std::nullopt;
}

std::optional<int> signal_inbox::take_wish() {
    while (const auto next = take()) {
        if (*next != SIGCHLD && !is_repeated(wished_at_)) return next;
    }
    return std::nullopt;
}

bool signal_inbox::is_asked_to_end() {
    while (const auto next = take()) {
        for (const int each : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
            if (*next == each) return true;
        }
    }
    return false;
}

int wait_a_moment(signal_inbox& signals) {
    constexpr std::chrono::seconds between{1};
    const auto until = local_clock::now() + between;
    while (local_clock::now() < until) {
        wait_for({signals.source()}, until - local_clock::now());
        if (const auto next = signals.take_wish()) return *next;
    }
    return 0;
}

event_flag::event_flag() : source_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (source_.number() < 0) fail("eventfd");
}

void event_flag::set() noexcept {
    const std::uint64_t one = 1;
    // A full counter means that the flag was set already.
    [[maybe_unused]] const auto written = write(source_.number(), &one, sizeof one);
}

bool event_flag::take() noexcept {
    std::uint64_t count = 0;
    return read(source_.number(), &count, sizeof count) == sizeof count;
}

}  // namespace leasehold::cli
