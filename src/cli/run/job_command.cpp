#include "cli/run/job_command.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

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

}  // namespace

// One command from its beginning to its end.
class job_commands::running {
    inheritance with_streams(inheritance from) const {
        from.is_apart = true;
        from.streams = {
            {input_.reading.number(), STDIN_FILENO}, {errors_.writing.number(), STDERR_FILENO}};
        if (output_) from.streams.emplace_back(output_->writing.number(), STDOUT_FILENO);
        return from;
    }

public:
    running(job_commands& of, const inheritance& from, const job& mine, bool stays)
        : of_(of),
          output_(stays ? std::optional<pipe_ends>{std::in_place} : std::nullopt),
          launch_(of.what_, with_streams(from)),
          guard_(launch_, lender_, mine.deadline(), of.margin_, guard::siblings::others) {
        make_patient(input_.writing);
        make_patient(errors_.reading);
        input_.reading.close();
        errors_.writing.close();
        if (output_) {
            make_patient(output_->reading);
            output_->writing.close();
        }
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

    using line_taker = std::function<bool(std::string_view)>;

    // Gives it a job. nullopt: the job has ended, by an answer; else the command has.
    std::optional<job_ending> run(const job& mine, std::string_view input, const line_taker& obey) {
        mine_ = &mine;
        input_left_ = input;
        sent_ = 0;
        tail_.clear();
        event_flag asked;
        const std::stop_callback sets{mine.stop(), [&] { asked.set(); }};
        if (input.empty()) input_.writing.close();
        while (!status_) {
            wait(asked);
            if (asked.take() && !kill_at_) stop();
            if (kill_at_ && local_clock::now() >= *kill_at_) kill_all();
            if (has_answered(obey)) return std::nullopt;
            if (silent_at_ && local_clock::now() >= *silent_at_ && !has_line()) {
                throw std::runtime_error("CMD closed its standard output and did not answer");
            }
        }
        take_what_is_left();
        if (!answers_.empty() && answers_.back() != '\n') answers_ += '\n';
        while (has_line()) {
            if (has_answered(obey)) return std::nullopt;
        }
        leave_the_rest();
        return job_ending{*status_, without_overwritten(tail_)};
    }

    // True if it may have another job. Nothing stops it until then.
    bool rests() {
        guard_.renew(local_clock::now() + std::chrono::hours{24 * 366 * 10});
        mine_ = nullptr;
        const bool has_all = std::exchange(input_left_, {}).empty();
        take_what_is_left();
        follow();
        if (!answers_.empty()) of_.tell("leasehold: CMD wrote beyond its answer: it is ended\n");
        const bool is_spent = status_ || kill_at_ || guard_.has_told();
        return has_all && answers_.empty() && !is_spent && listens_and_answers();
    }
    // True if it has read nothing of its job.
    bool has_read_nothing() const noexcept {
        int unread = 0;
        const int number = input_.writing.number();
        const bool is_known = number >= 0 && ioctl(number, FIONREAD, &unread) == 0;  // NOLINT
        return sent_ == 0 || (is_known && static_cast<std::size_t>(unread) >= sent_);
    }

    // In this order, for all that have no job: its input ends; it is told to.
    void end_input() noexcept { input_.writing.close(); }
    void stop() {
        kill_at_ = local_clock::now() + of_.kill_after_;
        if (guard_.may_tell()) signal_all(SIGTERM);
    }
    bool has_ended_by(local_clock::time_point until) {
        const event_flag never;
        while (!status_ && local_clock::now() < until) {
            kill_at_ = until;  // ends the wait
            wait(never);
            answers_.clear();
        }
        if (status_) leave_the_rest();  // else the guard kills all
        return status_.has_value();
    }

private:
    static constexpr std::size_t max_line = std::size_t{1} << 20;
    static constexpr int max_pieces = 512;

    void kill_all() {
        signal_all(SIGKILL);
        kill_at_ = local_clock::now() + of_.kill_after_;
    }
    // Its processes in the background live on, unless it was stopped.
    void leave_the_rest() noexcept {
        if (!guard_.has_told()) guard_.dismiss();
    }

    void signal_all(int number) noexcept {
        kill(-guard_.command(), number);
        guard_.signal_all(guard_.command(), number);
    }

    // The guard has to know each new deadline well before the old one.
    std::chrono::nanoseconds pause() {
        using std::chrono::nanoseconds;
        constexpr std::chrono::milliseconds least{10};
        const auto now = local_clock::now();
        nanoseconds until = std::chrono::hours{1};
        if (mine_ != nullptr) {
            const auto deadline = mine_->deadline();
            guard_.renew(deadline);
            until = std::max<nanoseconds>((deadline - now) / 4, least);
        }
        for (const auto& each : {kill_at_, silent_at_}) {
            if (each) until = std::min<nanoseconds>(until, *each - now);
        }
        return std::max(until, nanoseconds{0});
    }

    // If the tool's own standard error is stalled, the tool does not read the command's. The
    // command then waits, and the tool still renews its guard.
    void wait(const event_flag& asked) {
        constexpr std::chrono::milliseconds look_again{10};
        const bool has_room = of_.errors_.has_room(max_piece);
        std::array<pollfd, 5> sources{
            {{guard_.source(), POLLIN, 0},
             {asked.source(), POLLIN, 0},
             {has_room ? errors_.reading.number() : -1, POLLIN, 0},
             {input_left_.empty() ? -1 : input_.writing.number(), POLLOUT, 0},
             {output_ ? output_->reading.number() : -1, POLLIN, 0}}};
        const auto until = std::chrono::ceil<std::chrono::milliseconds>(pause());
        // One answer a turn: each may take a statement, and the guard is renewed in between.
        const auto timeout =
            has_line() ? 0 : (has_room ? until : std::min(until, look_again)).count();
        if (poll(sources.data(), sources.size(), static_cast<int>(timeout)) < 0) return;
        if (sources[2].revents != 0 && !listen()) errors_.reading.close();
        if (sources[3].revents != 0) speak();
        if (sources[4].revents != 0) hear();
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

    // Writes the rest of the input, as far as the command takes it. A CMD may stop reading early.
    void speak() {
        const auto taken = write(input_.writing.number(), input_left_.data(), input_left_.size());
        if (taken > 0) {
            sent_ += static_cast<std::size_t>(taken);
            input_left_.remove_prefix(static_cast<std::size_t>(taken));
        }
        const bool is_over = taken < 0 && errno != EAGAIN && errno != EINTR;
        if (is_over || (!output_ && input_left_.empty())) input_.writing.close();
        if (is_over) input_left_ = {};
    }

    // Its standard output, if it stays. False as by listen().
    bool hear() {
        if (!output_ || output_->reading.number() < 0) return false;
        std::array<char, max_piece> heard{};
        const auto count = read(output_->reading.number(), heard.data(), heard.size());
        if (count == 0) {
            constexpr std::chrono::seconds until_it_ends{1};
            output_->reading.close();
            silent_at_ = local_clock::now() + until_it_ends;
        }
        if (count <= 0) return count < 0 && errno == EINTR;
        answers_.append(heard.data(), static_cast<std::size_t>(count));
        return true;
    }
    // As much as a pipe has room for, from a command that may go on for ever.
    void take_what_is_left() {
        for (int pieces = 0; pieces < max_pieces && (listen() || hear()); ++pieces) {
        }
    }
    bool has_line() const noexcept { return answers_.find('\n') != answers_.npos; }
    // Obeys its next line, if there is one.
    bool has_answered(const line_taker& obey) {
        const auto end = answers_.find('\n');
        if (end == answers_.npos && answers_.size() > max_line) {
            throw std::runtime_error("CMD answered with a line of more than 1 MiB");
        }
        if (end == answers_.npos) return false;
        const std::string line = answers_.substr(0, end);
        answers_.erase(0, end + 1);
        return obey(line);
    }
    bool listens_and_answers() const {
        if (input_.writing.number() < 0 || output_->reading.number() < 0) return false;
        pollfd input{input_.writing.number(), 0, 0};
        return poll(&input, 1, 0) == 0;  // or nobody reads there
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
    const job* mine_ = nullptr;      // nullptr: it has none, and stays
    std::string_view input_left_{};  // of the job
    const terminal lender_;          // which is never lent
    pipe_ends input_, errors_;
    std::optional<pipe_ends> output_;  // set if it stays
    launch launch_;
    guard guard_;
    std::optional<local_clock::time_point> kill_at_;
    std::optional<local_clock::time_point> silent_at_;  // it has closed its standard output
    std::optional<int> status_;
    std::size_t sent_ = 0;  // of the job's input
    std::string tail_;
    std::string answers_;  // the lines that have come, and the beginning of one
};

std::shared_ptr<job_commands::running> job_commands::start(
    const inheritance& from, const job& mine, bool stays
) {
    const std::lock_guard alone{launching_};
    return std::make_shared<running>(*this, from, mine, stays);
}

job_ending job_commands::run(const inheritance& from, const job& mine) {
    const auto nothing = [](std::string_view) { return false; };
    return *start(from, mine, false)->run(mine, mine.payload(), nothing);
}

std::optional<job_ending> job_commands::run_staying(
    const inheritance& from,
    const job& mine,
    std::string_view line,
    const std::function<bool(std::string_view)>& obey
) {
    while (true) {
        std::shared_ptr<running> one = take_idle();
        const bool is_new = !one;
        if (is_new) one = start(from, mine, true);
        auto ended = one->run(mine, line, obey);
        // It had ended by itself, and nothing of this job has begun.
        const bool is_too_late = ended && !is_new && one->has_read_nothing();
        if (is_too_late && !mine.stop().stop_requested()) continue;
        if (!ended && one->rests()) {
            const std::lock_guard guard{idle_mutex_};
            idle_.push_back(std::move(one));
        }
        return ended;
    }
}

// One that has not ended since its last job, if there is any.
std::shared_ptr<job_commands::running> job_commands::take_idle() {
    while (true) {
        std::shared_ptr<running> one;
        {
            const std::lock_guard guard{idle_mutex_};
            if (idle_.empty()) return nullptr;
            one = std::move(idle_.back());
            idle_.pop_back();
        }
        if (one->rests()) return one;
    }
}

int job_commands::end_staying() noexcept {
    std::vector<std::shared_ptr<running>> all;
    {
        const std::lock_guard guard{idle_mutex_};
        all.swap(idle_);
    }
    try {
        for (const auto& each : all) each->end_input();
        auto until = local_clock::now() + kill_after_;
        for (const auto& each : all) {
            if (!each->has_ended_by(until)) each->stop();
        }
        until = local_clock::now() + kill_after_;
        for (const auto& each : all) each->has_ended_by(until);
    } catch (const std::exception& failure) {
        tell("leasehold: " + std::string{failure.what()} + "; commands that stayed are killed\n");
    }
    return static_cast<int>(all.size());
}

}  // namespace leasehold::cli
