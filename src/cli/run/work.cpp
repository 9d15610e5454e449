// `leasehold work --queue Q -- CMD…`: a worker in any language.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/errand.hpp"
#include "cli/run/events.hpp"
#include "cli/run/job_command.hpp"
#include "cli/run/launch.hpp"
#include "cli/run/line_protocol.hpp"
#include "cli/run/metrics_file.hpp"
#include "cli/run/program.hpp"
#include "cli/run/unstalled_errors.hpp"
#include "cli/run/work_report.hpp"
#include "cli/show/job_lines.hpp"
#include "cli/ticking_line.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "leasehold/worker.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

struct work_options {
    std::vector<std::string> queues;
    std::vector<std::string> kinds;
    int concurrency = 1;
    std::optional<int> prefetch;
    bool stop_when_idle = false;
    bool is_in_order = false;
    bool takes_lines = false;
    std::string ttl = "30s";
    std::string poll = "1s";
    std::string drain_timeout = "30s";
    std::string stop_timeout = "10s";
    std::optional<std::string> metrics_file;
};

std::string lines_of(const job_ending& ended) {
    return (ended.error_tail.empty() ? "" : "\n") + ended.error_tail;
}

// Ends the job by the exit status of CMD; see the help.
void judge(job& mine, const job_ending& ended) {
    constexpr int done = 0, later = 75;
    if (ended.status == done) return;
    if (ended.status == later) {
        mine.snooze_for(std::chrono::ceil<milliseconds>(mine.retry_delay()));
        return;
    }
    throw std::runtime_error("exit status " + std::to_string(ended.status) + lines_of(ended));
}

// The signal that told this worker to stop. A handler compares it with the signal that ended its
// CMD.
class stop_signal {
public:
    void set(int number) {
        {
            const std::lock_guard guard{mutex_};
            number_ = number;
        }
        is_set_.notify_all();
    }
    bool is_set() {
        const std::lock_guard guard{mutex_};
        return number_ != 0;
    }
    // A sender that signals all processes of a unit, as systemd does, may reach CMD first. So if
    // such a signal ended CMD, has_ended() waits a moment for the worker's own signal.
    bool has_ended(int status) {
        constexpr std::array ends{SIGTERM, SIGINT, SIGHUP, SIGQUIT};
        constexpr std::chrono::seconds timeout{1};
        const int number = status - exit_status::by_signal;
        if (std::find(ends.begin(), ends.end(), number) == ends.end()) return false;
        std::unique_lock guard{mutex_};
        is_set_.wait_for(guard, timeout, [&] { return number_ != 0; });
        return number_ == number;
    }

private:
    std::mutex mutex_;
    std::condition_variable is_set_;
    int number_ = 0;
};

// CMD cannot be run on this host: its file or interpreter is not there or not executable, or there
// are no processes or descriptors. This worker then rests, for longer each time, and leaves the
// jobs to other workers.
class host_trouble {
public:
    struct rest {
        milliseconds length;
        bool is_new;  // the rest begins with this failure; else with that of another job
    };
    rest begin_rest() {
        constexpr milliseconds least{1000}, most{60'000};
        const std::lock_guard guard{mutex_};
        const auto now = local_clock::now();
        if (now < rests_until_) return {std::chrono::ceil<milliseconds>(rests_until_ - now), false};
        last_ = std::clamp(last_ * 2, least, most);
        rests_until_ = now + last_;
        return {last_, true};
    }
    void is_over() {
        const std::lock_guard guard{mutex_};
        last_ = milliseconds{0};
    }

    // Ends the worker with this status. A worker that drains does not wait until the trouble is
    // repaired, and one whose output nobody reads ends, too.
    void end_with(int status) {
        status_ = status;
        ends_.set();
    }
    bool has_ended() noexcept { return ends_.take(); }
    int source() const noexcept { return ends_.source(); }
    int status() const noexcept { return status_; }

private:
    std::mutex mutex_;
    milliseconds last_{0};
    local_clock::time_point rests_until_{};
    std::atomic<int> status_ = 0;
    event_flag ends_;
};

// The jobs of one worker share this. Their threads may outlive its end.
struct workshop {
    workshop(const program& what, milliseconds margin, const worker_settings& settings, bool lines)
        : command(what),
          stop_when_idle(settings.stop_when_idle),
          takes_lines(lines),
          commands(command, margin, settings.stop_timeout / 2) {}

    const program command;
    const bool stop_when_idle;
    const bool takes_lines;                            // CMD stays: see line_protocol.hpp
    std::atomic<std::int64_t> begun = 0, running = 0;  // jobs
    job_commands commands;
    stop_signal told;
    host_trouble trouble;
};

std::string title_of(const job& mine) {
    return "leasehold: job " + std::to_string(mine.id()) + " (" + printable(mine.kind()) + ")";
}

void tell_failure(job_commands& commands, const job& mine, const std::string& why) {
    commands.tell(
        title_of(mine) + ", attempt " + std::to_string(mine.attempt()) + " of " +
        std::to_string(mine.max_attempts()) + ", failed: " + printable(summary_of(why)) + '\n'
    );
}

// Gives the job back, which costs no attempt.
void leave_to_others(workshop& in, job& mine, const std::string& why) {
    const auto [length, is_new] = in.trouble.begin_rest();
    if (is_new) {
        in.commands.tell(
            "leasehold: CMD cannot be run on this host: " + printable(why) +
            "; its jobs are given back and cost no attempt, and none is claimed here for " +
            shown(length) + ": put it right, or stop this worker\n"
        );
    }
    mine.release_and_rest(length);
}

// True if standard output is a pipe whose reader has gone. Each CMD has that pipe, too, and dies by
// SIGPIPE when it writes there.
bool nobody_reads_output() {
    pollfd output{STDOUT_FILENO, 0, 0};
    return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

// Ends the job by CMD's end.
void conclude(workshop& in, job& mine, const job_ending& ended) {
    if (!mine.stop().stop_requested() && in.told.has_ended(ended.status)) {
        in.commands.tell(
            title_of(mine) +
            " was ended by the signal that told this worker to stop: it is given back\n"
        );
        mine.release();
        return;
    }
    if (!in.takes_lines && ended.status == exit_status::by_signal + SIGPIPE &&
        nobody_reads_output()) {
        in.commands.tell(
            title_of(mine) +
            " was ended by SIGPIPE, and nobody reads standard output any more: it is given back, "
            "and this worker ends\n"
        );
        mine.release();
        in.trouble.end_with(exit_status::by_signal + SIGPIPE);
        return;
    }
    // `env` itself was found, and reports by this that it has not found the interpreter.
    if (ended.status == exit_status::not_found) {
        if (const auto missing = missing_interpreter(in.command)) {
            throw failure{
                exit_status::not_found,
                "not_executable",
                in.command.path + ": its interpreter '" + *missing + "' was not found"};
        }
    }
    in.trouble.is_over();
    judge(mine, ended);
}

// The job is done by a CMD of its own.
void run_one(workshop& in, inheritance from, job& mine) {
    from.additions = {
        {"LEASEHOLD_JOB_ID", std::to_string(mine.id())},
        {"LEASEHOLD_JOB_QUEUE", mine.queue()},
        {"LEASEHOLD_JOB_KIND", mine.kind()},
        {"LEASEHOLD_JOB_ATTEMPT", std::to_string(mine.attempt())},
        {"LEASEHOLD_JOB_TOKEN", std::to_string(mine.token().number)}};
    const std::string& trace = mine.traceparent();
    if (!trace.empty()) from.additions.emplace_back("TRACEPARENT", trace);
    conclude(in, mine, in.commands.run(from, mine));
}

// The job is done by a CMD that stays. Its end without an answer is no success.
void run_by_lines(workshop& in, const inheritance& from, job& mine) {
    std::string problem;
    const auto ended =
        in.commands.run_staying(from, mine, line_for(mine), [&](std::string_view line) {
            const auto answer = obey(mine, line);
            problem = answer.value_or("");
            return answer.has_value();
        });
    if (ended) {
        conclude(in, mine, *ended);
        if (ended->status == 0) problem = "CMD ended and did not answer" + lines_of(*ended);
    }
    if (!problem.empty()) throw std::runtime_error(problem);
    in.trouble.is_over();
}

job_handler handler_for(std::shared_ptr<workshop> in, const inheritance& common) {
    return [in = std::move(in), common](job& mine) {
        ++in->begun;
        ++in->running;
        const std::shared_ptr<workshop> ends{in.get(), [](workshop* of) { --of->running; }};
        // The worker may have counted as idle, and been told to stop, before `running` counted this
        // job.
        if (in->told.is_set()) return mine.release();
        try {
            in->takes_lines ? run_by_lines(*in, common, mine) : run_one(*in, common, mine);
        } catch (const failure& not_run) {
            leave_to_others(*in, mine, not_run.what());
            if (in->stop_when_idle) in->trouble.end_with(not_run.status());
        } catch (const error& failed) {
            tell_failure(in->commands, mine, failed.what());
            throw;
        } catch (const std::system_error& poor) {
            leave_to_others(*in, mine, poor.what());
        } catch (const std::exception& failed) {
            tell_failure(in->commands, mine, failed.what());
            throw;
        }
    };
}

// The time that a worker has when it is told to end: for its CMDs, and to record their ends. A
// worker with nothing to do only ends its session, if the database has ever answered.
class goodbye_time {
public:
    goodbye_time(const database& db, const worker& does, const workshop& in)
        : database_(db), does_(does), in_(in) {}

    // True if any call so far has found that the database has answered.
    bool look() {
        if (in_.begun > 0 || database_.pool_usage().idle > 0) has_been_in_touch_ = true;
        return has_been_in_touch_;
    }
    milliseconds to_end(const worker_settings& settings) {
        const bool has_been_in_touch = look();
        const worker_report done = does_.progress();
        const std::int64_t told = done.completed + done.failed + done.returned + done.discarded +
                                  done.cancelled + done.lost + done.unknown;
        if (in_.running > 0 || in_.begun > told) {
            return settings.drain_timeout + settings.stop_timeout + std::chrono::seconds{5};
        }
        return has_been_in_touch ? milliseconds{max_goodbye} : milliseconds{0};
    }

private:
    const database& database_;
    const worker& does_;
    const workshop& in_;
    bool has_been_in_touch_ = false;
};

int run_work(
    const work_options& chosen,
    const worker_settings& settings,
    session_settings timing,
    const program& command,
    const database& db,
    const std::shared_ptr<metrics>& counts,
    bool is_json
) {
    warn_where_orphans_escape(is_json);
    const unstalled_errors unstalled{is_json};
    signal_inbox signals;
    std::optional<metrics_file> counted;
    if (counts) counted.emplace(*chosen.metrics_file, counts, is_json);
    // The default of completed() in session/lease_machine.cpp, which the guards of CMDs must know.
    timing.margin = std::min<milliseconds>(std::chrono::seconds{2}, timing.ttl / 6);
    worker does{db, settings, timing};
    const inheritance common{{}, signals.outside()};
    const auto in =
        std::make_shared<workshop>(command, *timing.margin, settings, chosen.takes_lines);
    const job_handler with = handler_for(in, common);
    for (const std::string& each : chosen.kinds) does.handle(each, with);
    if (chosen.kinds.empty()) does.handle_all(with);
    ticking_line progress{[&] { return summary_of(does.progress()); }, is_json};
    background<worker_report> running{[&](const std::stop_token& stop) { return does.run(stop); }};
    goodbye_time goodbye{db, does, *in};
    const auto time_left = [&](int signal) {
        running.cancel();  // before a job is given back for this signal, and claimed again
        in->told.set(signal);
        return goodbye.to_end(settings);
    };
    // When the signal comes all connections may be in use, and then none shows that the database
    // has answered.
    constexpr milliseconds until_in_touch{200};
    const auto look_up = [&] {
        const bool has_been_in_touch = goodbye.look();
        if (in->trouble.has_ended()) running.cancel();
        const std::chrono::nanoseconds pause = progress.tick();
        return has_been_in_touch ? pause
                                 : std::min<std::chrono::nanoseconds>(pause, until_in_touch);
    };
    const int stopped_by =
        wait_for_end(running, signals, time_left, in->trouble.source(), -1, look_up);
    progress.clear();
    const worker_report report = running.take();
    const auto end_staying = [&](const std::stop_token&) { return in->commands.end_staying(); };
    finish(signals, settings.stop_timeout + max_goodbye, end_staying, [] { return 0; });
    in->commands.flush();
    counted.reset();  // the last counts are in the file when this process has ended
    if (is_json) {
        print_json(json_of(report));
    } else {
        std::cerr << "leasehold: " + summary_of(report) + shown_left(report.left) + '\n';
    }
    if (stopped_by == 0) return in->trouble.status();
    const bool was_asked = stopped_by == SIGTERM || stopped_by == SIGINT || stopped_by == SIGHUP;
    return was_asked ? exit_status::done : exit_status::by_signal + stopped_by;
}

void add_options(CLI::App& parser, work_options& chosen) {
    parser.add_option("--queue", chosen.queues, "Work for this queue; may be given several times")
        ->option_text("Q")
        ->required();
    parser.add_option("--kind", chosen.kinds, "Only jobs of this kind; may be given several times")
        ->option_text("K");
    parser.add_option("--concurrency", chosen.concurrency, "How many CMDs at a time; default 1")
        ->option_text("N")
        ->check(CLI::Range(1, 1000));
    parser.add_option("--prefetch", chosen.prefetch, "How many to claim beyond; default: measured")
        ->option_text("N")
        ->check(CLI::Range(0, 1000));
    parser
        .add_option_function<std::string>(
            "--protocol",
            [&](const std::string& name) { chosen.takes_lines = name == "lines"; },
            "lines: CMD stays, and gets each job as a line of JSON"
        )
        ->option_text("P")
        ->check(CLI::IsMember({"process", "lines"}));
    parser.add_flag("--in-order", chosen.is_in_order, "A later --queue waits for those before it");
    parser.add_flag("--drain", chosen.stop_when_idle, "End when nothing is left that could run");
    parser
        .add_option("--ttl", chosen.ttl, "Others get the jobs so long after a crash; default 30s")
        ->option_text("D");
    parser.add_option("--poll", chosen.poll, "Look so often where nothing was found; default 1s")
        ->option_text("D");
    parser
        .add_option(
            "--drain-for", chosen.drain_timeout, "Asked to end: wait so long for CMDs; default 30s"
        )
        ->option_text("D");
    parser
        .add_option(
            "--stop-within",
            chosen.stop_timeout,
            "Then SIGTERM, after half of this SIGKILL; default 10s"
        )
        ->option_text("D");
    parser
        .add_option("--metrics-file", chosen.metrics_file, "Write Prometheus metrics to this file")
        ->option_text("FILE");
}

constexpr const char* work_help =
    "CMD runs once for each job, with the payload on standard input and LEASEHOLD_JOB_ID,\n"
    "LEASEHOLD_JOB_QUEUE, LEASEHOLD_JOB_KIND, LEASEHOLD_JOB_ATTEMPT, LEASEHOLD_JOB_TOKEN and,\n"
    "if the job has one, TRACEPARENT in its environment. Its exit status says what becomes of\n"
    "the job:\n"
    "  0      the job is completed\n"
    "  75     the job runs again after the retry delay; the attempt does not count\n"
    "  other  the attempt has failed; the end of CMD's standard error is kept with the job\n"
    "If CMD cannot be run at all, because CMD or its interpreter is missing or may not be\n"
    "run, the attempt does not count: this worker says so, leaves the jobs to others, and\n"
    "tries again, in the end a minute apart; with --drain it ends with 126 or 127. CMD has no\n"
    "terminal. A job runs at least once: if a worker dies, another one runs the job again.\n"
    "Let what CMD writes carry LEASEHOLD_JOB_TOKEN, which grows with each claim of the job.\n"
    "\n"
    "With --protocol lines CMD is started once, or --concurrency times, and does one job\n"
    "after another. It reads each job as a line of JSON with id, queue, kind, attempt,\n"
    "max_attempts, token, payload (a text) and, if there are any, traceparent and checkpoint.\n"
    "It answers with a line such as {\"id\":7,\"do\":\"complete\"}:\n"
    "  complete, fail, discard   with \"text\": the result, the error, the reason\n"
    "  snooze                    with \"seconds\": again after that; the attempt does not count\n"
    "  release                   the job is given back; the attempt does not count\n"
    "  progress                  with \"text\": the job goes on\n"
    "  checkpoint                with \"text\": the job goes on; its next attempt gets the text\n"
    "CMD has to end when its standard input does. If CMD ends within a job its exit status\n"
    "counts, and 0 means that the attempt has failed. To stop a job the worker sends TERM to\n"
    "its CMD, and starts another one for the next job.\n"
    "\n"
    "TERM, INT and HUP end the worker: it claims no more jobs, lets CMDs end, stops them\n"
    "later, and gives back what they had not done. A second signal ends the worker at once;\n"
    "two within a second are one. A CMD that dies of the same signal costs no attempt. Under\n"
    "systemd, KillMode=mixed keeps the signal from CMDs, so that they have their time. If\n"
    "this process is killed, or stopped for so long that its jobs could run elsewhere, CMDs\n"
    "are killed before that with all that they have started, as by `leasehold lock`.\n"
    "\n"
    "--metrics-file is for node_exporter's textfile collector: counters and times of jobs by\n"
    "queue and kind, and others of this worker, with the file's name as label `worker`. The\n"
    "file is replaced every 10 s and at the end. If it cannot be written, there is a warning.\n"
    "\n"
    "While the database is away, also at the start, the worker waits, and it goes on when the\n"
    "database is back; with --drain the database has to answer at the start.\n"
    "\n";

constexpr const char* work_examples =
    "Examples:\n"
    "  leasehold work --queue mail -- ./send-mail\n"
    "  leasehold work --queue images --concurrency 4 -- python3 resize.py\n"
    "  leasehold work --queue images --protocol lines --concurrency 4 -- python3 resize.py\n"
    "  leasehold work --queue reports --kind nightly --drain -- sh -c 'cat >report.json'\n"
    "  leasehold work --queue mail --metrics-file /var/lib/node_exporter/mail.prom -- ./send-mail\n"
    "\n";

}  // namespace

command add_work(CLI::App& tool, const global_options& options, const arguments& given) {
    CLI::App* const parser = tool.add_subcommand("work", "Run a command for each job of a queue");
    auto chosen = std::make_shared<work_options>();
    add_options(*parser, *chosen);
    parser->footer(std::string{work_help} + environment_help + work_examples + exit_status_help);
    const auto run = [chosen, &options, &given] {
        require_command(given, "work --queue Q");
        worker_settings settings;
        settings.queues = chosen->queues;
        if (chosen->is_in_order) settings.order = queue_order::as_listed;
        settings.concurrency = chosen->concurrency;
        settings.prefetch = chosen->prefetch;
        settings.stop_when_idle = chosen->stop_when_idle;
        settings.poll_every = parse_duration(chosen->poll, "--poll");
        settings.drain_timeout = parse_duration(chosen->drain_timeout, "--drain-for");
        settings.stop_timeout = parse_duration(chosen->stop_timeout, "--stop-within");
        settings.abandons_handlers = true;  // what they refer to lives as long as they do
        session_settings timing;
        timing.ttl = parse_duration(chosen->ttl, "--ttl");
        program command = command_of(given, options);
        command.withheld.insert(command.withheld.end(), {"TRACEPARENT", "TRACESTATE"});
        timing.name = command.name();
        const auto counts = chosen->metrics_file ? std::make_shared<metrics>() : nullptr;
        const database db =
            open_database(options, statement_timeout_for(timing), {}, command.name(), 2, counts);
        return run_work(*chosen, settings, timing, command, db, counts, options.is_json);
    };
    return {parser, run};
}

}  // namespace leasehold::cli
