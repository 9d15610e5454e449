#include "cli/job_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>

#include "cli/events.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {
namespace {

constexpr std::size_t tail_bytes_max = 4000;

struct pipe_ends {
    pipe_ends() {
        std::array<int, 2> ends{-1, -1};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
        reading = descriptor{ends[0]};
        writing = descriptor{ends[1]};
    }
    descriptor reading, writing;
};

void make_patient(const descriptor& end) {
    if (fcntl(end.number(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
}

// One command from its beginning to its end.
class running_command {
public:
    running_command(const program& what, const inheritance& from, const std::string& payload)
        : name_(what.name()), payload_(payload), launch_(what, from) {
        make_patient(input_.writing);
        make_patient(errors_.reading);
        const pid_t self = getpid();
        pid_ = fork();
        if (pid_ < 0) fail("fork");
        if (pid_ == 0) become(self);
        setpgid(pid_, pid_);  // whoever comes first
        launch_.keep_reading_end();
        input_.reading.close();
        errors_.writing.close();
        watch_ = descriptor{static_cast<int>(syscall(SYS_pidfd_open, pid_, 0U))};
        if (watch_.number() < 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
            fail("pidfd_open");
        }
        launch_.go(false);
    }
    running_command(const running_command&) = delete;
    running_command& operator=(const running_command&) = delete;

    job_ending run(const std::stop_token& stop, std::chrono::milliseconds kill_after) {
        bell asked;
        const std::stop_callback rings{stop, [&] { asked.ring(); }};
        if (payload_.empty()) input_.writing.close();
        std::optional<local_clock::time_point> kill_at;
        while (!has_ended_) {
            wait(asked, kill_at);
            if (asked.hush() && !kill_at) {
                kill(-pid_, SIGTERM);
                kill_at = local_clock::now() + kill_after;
            }
            if (kill_at && local_clock::now() >= *kill_at) {
                kill(-pid_, SIGKILL);
                kill_at = local_clock::now() + kill_after;
            }
        }
        while (listen()) {
        }
        return ending();
    }

private:
    // In the new process, which has one thread: what is allowed after a fork alone.
    [[noreturn]] void become(pid_t parent) noexcept {
        dup2(input_.reading.number(), STDIN_FILENO);
        dup2(errors_.writing.number(), STDERR_FILENO);
        launch_.run(parent, lender_);
        _exit(exit_status::not_executable);
    }

    void wait(const bell& asked, const std::optional<local_clock::time_point>& until) {
        std::array<pollfd, 4> sources{
            {{watch_.number(), POLLIN, 0},
             {asked.source(), POLLIN, 0},
             {errors_.reading.number(), POLLIN, 0},
             {input_.writing.number(), POLLOUT, 0}}};
        int patience = -1;
        if (until) {
            const auto left = *until - local_clock::now();
            const auto whole = std::chrono::ceil<std::chrono::milliseconds>(left).count();
            patience = static_cast<int>(std::max<std::int64_t>(0, whole));
        }
        if (poll(sources.data(), sources.size(), patience) < 0) return;
        if (sources[2].revents != 0 && !listen()) errors_.reading.close();
        if (sources[3].revents != 0) speak();
        has_ended_ = sources[0].revents != 0;
    }

    // The rest of the payload, as far as it is taken. Who reads no more is right, too.
    void speak() {
        const std::string_view rest = std::string_view{payload_}.substr(sent_);
        const auto taken = write(input_.writing.number(), rest.data(), rest.size());
        if (taken > 0) sent_ += static_cast<std::size_t>(taken);
        const bool is_over = taken < 0 && errno != EAGAIN && errno != EINTR;
        if (is_over || sent_ == payload_.size()) input_.writing.close();
    }

    // False where there is nothing at this moment, or nothing will come any more.
    bool listen() {
        std::array<char, 4096> heard{};
        const auto count = read(errors_.reading.number(), heard.data(), heard.size());
        if (count <= 0) return count < 0 && errno == EINTR;
        const std::string_view words{heard.data(), static_cast<std::size_t>(count)};
        [[maybe_unused]] const auto passed = write(STDERR_FILENO, words.data(), words.size());
        tail_ += words;
        if (tail_.size() > tail_bytes_max) tail_.erase(0, tail_.size() - tail_bytes_max);
        return true;
    }

    job_ending ending() {
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        if (const auto problem = launch_.outcome(); problem && *problem != 0) {
            const bool is_missing = *problem == ENOENT;
            throw failure{
                is_missing ? exit_status::not_found : exit_status::not_executable,
                "not_executable",
                name_ + " could not be executed: " + std::generic_category().message(*problem)};
        }
        job_ending ended;
        ended.status =
            WIFSIGNALED(status) ? exit_status::by_signal + WTERMSIG(status) : WEXITSTATUS(status);
        ended.error_tail = std::move(tail_);
        return ended;
    }

    const std::string name_;
    const std::string& payload_;
    launch launch_;
    const terminal lender_;  // which is never lent
    pipe_ends input_, errors_;
    descriptor watch_;
    pid_t pid_ = -1;
    std::size_t sent_ = 0;
    std::string tail_;
    bool has_ended_ = false;
};

}  // namespace

job_ending run_for_job(
    const program& what,
    const inheritance& from,
    const std::string& payload,
    const std::stop_token& stop,
    std::chrono::milliseconds kill_after
) {
    return running_command{what, from, payload}.run(stop, kill_after);
}

}  // namespace leasehold::cli
