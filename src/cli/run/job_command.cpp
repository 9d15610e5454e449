#include "cli/run/job_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>

#include "cli/exit_status.hpp"
#include "cli/run/error_tee.hpp"
#include "cli/run/events.hpp"
#include "cli/run/guard.hpp"
#include "cli/terminal.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {
namespace {

// The bytes that the error of a job has room for, beside the status (job_store::max_words_bytes).
constexpr std::size_t max_tail_bytes = 3900;
constexpr std::size_t max_piece = 4096;

void make_patient(const descriptor& end) {
    if (fcntl(end.number(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
}

}  // namespace

// One command from its beginning to its end.
class job_commands::running {
    struct pipe_ends {
        pipe_ends() {
            std::array<int, 2> ends{-1, -1};
            if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
            reading = descriptor{ends[0]};
            writing = descriptor{ends[1]};
        }
        descriptor reading, writing;
    };
    static inheritance with_streams(
        inheritance from, const pipe_ends& input, const pipe_ends& errors
    ) {
        from.is_apart = true;
        from.streams = {
            {input.reading.number(), STDIN_FILENO}, {errors.writing.number(), STDERR_FILENO}};
        return from;
    }

public:
    running(job_commands& of, const inheritance& from, const job& mine)
        : of_(of),
          mine_(mine),
          payload_(mine.payload()),
          launch_(of.what_, with_streams(from, input_, errors_)),
          guard_(launch_, lender_, mine.deadline(), of.margin_, guard::siblings::others) {
        make_patient(input_.writing);
        make_patient(errors_.reading);
        input_.reading.close();
        errors_.writing.close();
        launch_.go(false);
        std::optional<int> problem;
        while (!(problem = launch_.outcome())) {
            wait_for({launch_.source()}, std::chrono::hours{1});
        }
        if (*problem == 0) return;
        const bool is_missing = *problem == ENOENT;
        throw failure{
            is_missing ? exit_status::not_found : exit_status::not_executable,
            "not_executable",
            of.what_.path + ": " +
                (is_missing ? "it, or the interpreter it names, was not found"
                            : std::generic_category().message(*problem))};
    }
    running(const running&) = delete;
    running& operator=(const running&) = delete;

    job_ending run() {
        event_flag asked;
        const std::stop_callback sets{mine_.stop(), [&] { asked.set(); }};
        if (payload_.empty()) input_.writing.close();
        while (!status_) {
            wait(asked);
            if (asked.take() && !kill_at_) {
                kill_at_ = local_clock::now() + of_.kill_after_;
                if (guard_.may_tell()) signal_all(SIGTERM);
            }
            if (kill_at_ && local_clock::now() >= *kill_at_) {
                signal_all(SIGKILL);
                kill_at_ = local_clock::now() + of_.kill_after_;
            }
        }
        while (listen()) {
        }
        const bool was_stopped = kill_at_ || guard_.has_told();
        if (!was_stopped) guard_.dismiss();
        return {*status_, without_overwritten(tail_)};
    }

private:
    void signal_all(int number) noexcept {
        kill(-guard_.command(), number);
        guard_.signal_all(guard_.command(), number);
    }

    // The guard has to know each new deadline well before the old one.
    std::chrono::nanoseconds pause() {
        using std::chrono::nanoseconds;
        constexpr std::chrono::milliseconds least{10};
        const auto deadline = mine_.deadline();
        guard_.renew(deadline);
        const auto now = local_clock::now();
        nanoseconds until = std::max<nanoseconds>((deadline - now) / 4, least);
        if (kill_at_) until = std::min<nanoseconds>(until, *kill_at_ - now);
        return std::max(until, nanoseconds{0});
    }

    // If the tool's own standard error is stalled, the tool does not read the command's. The
    // command then waits, and the tool still renews its guard.
    void wait(const event_flag& asked) {
        constexpr std::chrono::milliseconds look_again{10};
        const bool has_room = of_.errors_.has_room(max_piece);
        std::array<pollfd, 4> sources{
            {{guard_.source(), POLLIN, 0},
             {asked.source(), POLLIN, 0},
             {has_room ? errors_.reading.number() : -1, POLLIN, 0},
             {input_.writing.number(), POLLOUT, 0}}};
        const auto until = std::chrono::ceil<std::chrono::milliseconds>(pause());
        const auto timeout = (has_room ? until : std::min(until, look_again)).count();
        if (poll(sources.data(), sources.size(), static_cast<int>(timeout)) < 0) return;
        if (sources[2].revents != 0 && !listen()) errors_.reading.close();
        if (sources[3].revents != 0) speak();
        if (sources[0].revents != 0) follow();
    }

    void follow() {
        while (const auto news = guard_.take()) {
            if (news->what == guard::event::ended) status_ = news->number;
            if (news->what != guard::event::gone) continue;
            // The kernel has killed the command then; a process left in its group keeps its number.
            if (!status_) {
                kill(-guard_.command(), SIGKILL);
                status_ = exit_status::by_signal + SIGKILL;
            }
            return;
        }
    }

    // Writes the rest of the payload, as far as the command takes it. A CMD may stop reading early.
    void speak() {
        const std::string_view rest = std::string_view{payload_}.substr(sent_);
        const auto taken = write(input_.writing.number(), rest.data(), rest.size());
        if (taken > 0) sent_ += static_cast<std::size_t>(taken);
        const bool is_over = taken < 0 && errno != EAGAIN && errno != EINTR;
        if (is_over || sent_ == payload_.size()) input_.writing.close();
    }

    // False if there is nothing to read now, or nothing will come any more.
    bool listen() {
        std::array<char, max_piece> heard{};
        const auto count = read(errors_.reading.number(), heard.data(), heard.size());
        if (count <= 0) return count < 0 && errno == EINTR;
        const std::string_view words{heard.data(), static_cast<std::size_t>(count)};
        of_.errors_.add(words);
        tail_ += words;
        cut_front(tail_, max_tail_bytes);
        return true;
    }

    job_commands& of_;
    const job& mine_;
    const std::string& payload_;
    const terminal lender_;  // which is never lent
    pipe_ends input_, errors_;
    launch launch_;
    guard guard_;
    std::optional<local_clock::time_point> kill_at_;
    std::optional<int> status_;
    std::size_t sent_ = 0;
    std::string tail_;
};

job_ending job_commands::run(const inheritance& from, const job& mine) {
    std::optional<running> one;
    {
        const std::lock_guard alone{launching_};
        one.emplace(*this, from, mine);
    }
    return one->run();
}

}  // namespace leasehold::cli
