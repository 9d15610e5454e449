#include "cli/run/errand.hpp"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <system_error>

#include "cli/arguments.hpp"
#include "cli/open.hpp"
#include "cli/output.hpp"
#include "cli/run/child.hpp"
#include "cli/run/supervisor.hpp"
#include "leasehold/error.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"

namespace leasehold::cli {
namespace {

acquisition acquire_in(session& within, const errand& what, const std::stop_token& cancel) {
    if (what.permits > 0) {
        semaphore counted{within, what.name, what.permits_there_are};
        return what.timeout ? counted.acquire_for(*what.timeout, what.permits, cancel)
                            : counted.acquire(what.permits, cancel);
    }
    if (what.mode == hold_mode::shared) {
        shared_mutex shared{within, what.name};
        return what.timeout ? shared.acquire_shared_for(*what.timeout, cancel)
                            : shared.acquire_shared(cancel);
    }
    if (what.mode == hold_mode::exclusive) {
        shared_mutex shared{within, what.name};
        return what.timeout ? shared.acquire_for(*what.timeout, cancel) : shared.acquire(cancel);
    }
    mutex wanted{within, what.name, {.lock_delay = what.lock_delay, .metadata = what.note}};
    return what.timeout ? wanted.acquire_for(*what.timeout, cancel) : wanted.acquire(cancel);
}

// The command has ended, and nobody knows whether its key is free. That does not change the tool's
// own status if the lease was still good by our own clock.
int unreleased(const errand& what, const lease& held, bool was_held, int status, std::string why) {
    if (!was_held) {
        const failure failed =
            lost(what, held, "whether the command was alone until its end is not known");
        report(what.is_json, failed);
        return failed.status();
    }
    report(
        what.is_json,
        "release_failed",
        "the command has ended, but '" + what.name.name() + "' may stay locked for up to " +
            shown(what.timing.ttl) + ": " + why
    );
    return status;
}

}  // namespace

holding acquire(
    const database& db,
    const errand& what,
    const std::function<void()>& on_session,
    const std::stop_token& cancel
) {
    session_settings timing = what.timing;
    timing.begins_with_grant = true;
    session within{db, timing};
    on_session();
    if (cancel.stop_requested()) return {std::move(within), acquisition{std::nullopt, what.name}};
    try {
        acquisition got = acquire_in(within, what, cancel);
        return {std::move(within), std::move(got)};
    } catch (const error&) {
        return {std::move(within), acquisition{std::nullopt, what.name}, std::current_exception()};
    }
}

void errand_options::apply_to(errand& what) const {
    what.statuses = statuses;
    what.note = note;
    what.is_quiet = is_quiet;
    what.waits_for_all = waits_for_all;
}

void require_command(const arguments& given, const std::string& words) {
    if (!given.command.empty()) return;
    throw usage_failure(
        "there is no command to run: write `leasehold " + words + " -- CMD [ARG...]`"
    );
}

program command_of(const arguments& given, const global_options& options) {
    program command = find_program(given.command);
    command.withheld = password_variables(options);
    command.keep_open = inherited_descriptors();
    return command;
}

std::chrono::milliseconds statement_timeout_for(const session_settings& timing) {
    using std::chrono::milliseconds;
    return std::clamp(timing.ttl / 6, milliseconds{1000}, milliseconds{5000});
}

const char* const environment_help =
    "CMD does not get the variables that may hold the password of the locks' database:\n"
    "LEASEHOLD_URL, and PGPASSWORD on PostgreSQL or MYSQL_PWD on MySQL and MariaDB. A CMD\n"
    "that runs leasehold itself, or works on that database, needs --pass-url, or\n"
    "LEASEHOLD_URL_FILE, which is passed on like everything else.\n";

const char* const unstoppable_help =
    "When the lease is lost, or this process is killed, all that CMD has started is stopped,\n"
    "also in the background, by nohup or by setsid. The lease cannot stop\n"
    "  what a service does for CMD: docker run, ssh, systemd-run, at, batch, cron, a job of a\n"
    "    cluster. Let CMD wait for it and stop it on SIGTERM, or let what it writes carry\n"
    "    LEASEHOLD_TOKEN;\n"
    "  what runs as another user: sudo, programs with the set-user-ID bit;\n"
    "  what CMD has started, if kill -9 hits this process and its guard at once: only CMD\n"
    "    dies then.\n"
    "When CMD ends by itself, the key is free, and processes that CMD has left in the\n"
    "background go on without the key. With --until-all-exit the key is kept, as flock does,\n"
    "until the last of them has ended, and signals go to them after CMD's end. The exit\n"
    "status is CMD's.\n";

void add_until_all_exit(CLI::App& parser, bool& chosen) {
    parser.add_flag(
        "--until-all-exit",
        chosen,
        "When CMD has ended, wait for all that it has started, in the background, too"
    );
}

CLI::Option* add_note(CLI::App& parser, std::string& chosen) {
    constexpr std::size_t max_bytes = 4000;  // as mutex_settings
    const auto check = [](const std::string& text) -> std::string {
        if (text.size() > max_bytes) return "it is longer than 4000 bytes";
        return is_text(text) ? "" : "it is not UTF-8";
    };
    return parser
        .add_option("--note", chosen, "Words for those who ask who has it: `locks` shows them")
        ->option_text("TEXT")
        ->check(check);
}

void add_lost_status(CLI::App& parser, own_statuses& chosen) {
    // The status is not 0, so that a caller does not take a command that was stopped half-way for a
    // successful one.
    parser
        .add_option(
            "--lost-status",
            chosen.lost,
            "Exit with N where the lease was lost: 1 to 255; default 76"
        )
        ->option_text("N")
        ->check(CLI::Range(1, 255));
}

void add_busy_status(CLI::App& parser, own_statuses& chosen) {
    parser
        .add_option(
            "--busy-status",
            chosen.busy,
            "Exit with N where it was not acquired: 0 to 255; default 75"
        )
        ->option_text("N")
        ->check(CLI::Range(0, 255));
}

void warn_where_orphans_escape(bool is_json) {
    int was = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &was);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, was);
        return;
    }
    report(
        is_json,
        "no_subreaper",
        "warning: this system refuses PR_SET_CHILD_SUBREAPER (" +
            std::generic_category().message(errno) +
            "): what CMD leaves behind in a session of its own is not stopped with CMD; let the "
            "container's seccomp filter allow prctl"
    );
}

failure with_own_status(const errand& what, failure meant) {
    if (meant.status() == exit_status::not_acquired) {
        return std::move(meant).with(what.statuses.busy);
    }
    if (meant.status() == exit_status::lease_lost) {
        return std::move(meant).with(what.statuses.lost);
    }
    return meant;
}

failure explain(signal_inbox& signals, const std::function<failure()>& ask) {
    constexpr std::chrono::hours for_ever{24};
    background<failure> asking{[&](const std::stop_token&) { return ask(); }};
    const int asked_by = wait_for_end(
        asking, signals, [](int) { return max_goodbye; }, -1, -1, [&] { return for_ever; }
    );
    failure found = asking.take();
    if (asked_by == 0) return found;
    return std::move(found).with(exit_status::by_signal + asked_by);
}

void end_at_once(int signal_number) {
    _exit(exit_status::by_signal + signal_number);
}

failure lost(const errand& what, const lease& held, const std::string& consequence) {
    std::string reason = "it could not be renewed in time";
    if (held.why_lost() == loss_reason::taken_over) reason = "it was freed by force";
    if (held.why_lost() == loss_reason::ended_by_server) reason = "the database ended its session";
    return failure{
        what.statuses.lost,
        name_of(errc::lease_lost),
        "the lease on '" + what.name.name() + "' was lost: " + reason + "; " + consequence};
}

ending run_under(
    const errand& what,
    const program& command,
    const session_settings& timing,
    const lease& held,
    signal_inbox& signals,
    const std::vector<std::pair<std::string, std::string>>& more,
    std::vector<std::pair<int, int>> streams
) {
    inheritance from{
        {{"LEASEHOLD_KEY", what.name.name()},
         {"LEASEHOLD_TOKEN", std::to_string(held.token().number)},
         {"LEASEHOLD_OWNER", held.owner().text()}},
        signals.outside(),
        std::move(streams)};
    from.additions.insert(from.additions.end(), more.begin(), more.end());
    child running{command, from, held.deadline(), *timing.margin};
    supervisor watching{held, timing, running, signals, what.waits_for_all};
    const std::optional<int> status = watching.run();
    return {status, watching.asked_by(), watching.was_revoked()};
}

int release(const errand& what, holding& with, int status, signal_inbox& signals) {
    lease& held = *with.got;
    const bool was_held = held.held_locally();
    const auto failed = [&](const std::string& why) {
        return unreleased(what, held, was_held, status, why);
    };
    const auto work = [&](const std::stop_token&) { return with.within.end_with(std::move(held)); };
    const auto give_up = [&] { return failed("the database does not answer"); };
    try {
        switch (finish(signals, what.timing.ttl, work, give_up)) {
            case release_outcome::not_held:
                throw failure{
                    what.statuses.lost,
                    name_of(errc::lease_lost),
                    "the lease on '" + what.name.name() +
                        "' ended before the command did: somebody else may have held the key "
                        "meanwhile"};
            case release_outcome::unknown:
                return failed("the answer was lost");
            case release_outcome::released:
            case release_outcome::still_held:
                break;
        }
    } catch (const error& problem) {
        return failed(problem.what());
    }
    return status;
}

}  // namespace leasehold::cli
