// `leasehold lock KEY -- CMD…`: runs a command while holding a key.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/child.hpp"
#include "cli/events.hpp"
#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/program.hpp"
#include "cli/progress.hpp"
#include "cli/supervisor.hpp"
#include "leasehold/error.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

struct lock_options {
    std::string key;
    std::string wait = "0";
    std::string ttl = "30s";
};

// What everything below needs to know.
struct errand {
    leasehold::key name;
    std::optional<milliseconds> patience;  // nothing: for ever
    session_settings timing;
    bool is_json = false;
};

struct holding {
    session within;
    acquisition got;
};

constexpr std::size_t first = 0;  // of what is waited for

[[noreturn]] void end_at_once(int signal_number) {
    _exit(exit_status::by_signal + signal_number);
}

// Runs in the background. The session comes first: the lease lives with it.
holding acquire(const database& db, const errand& what, const std::stop_token& cancel) {
    session within{db, what.timing};
    if (cancel.stop_requested()) return {std::move(within), acquisition{std::nullopt}};
    mutex wanted{within, what.name};
    acquisition got =
        what.patience ? wanted.acquire_for(*what.patience, cancel) : wanted.acquire(cancel);
    return {std::move(within), std::move(got)};
}

failure busy(const errand& what, const std::optional<lock_info>& holder) {
    std::string message = "'" + what.name.name() + "' ";
    if (holder) {
        message += "is held by " + holder->node_info + " for " + shown(holder->held_for) +
                   " (token " + std::to_string(holder->token.number) + "); it is free in at most " +
                   shown(holder->remaining) + " unless its holder shows signs of life";
    } else {
        message += "was held by somebody else, who has just let go of it";
    }
    const bool has_waited = what.patience != milliseconds{0};
    message += has_waited ? "; wait longer with --wait, or see `leasehold locks`"
                          : "; wait for it with --wait";
    return failure{exit_status::not_acquired, name_of(errc::busy), message};
}

// The lease and what it lives in; or the signal that ended the wait.
struct acquired {
    std::optional<holding> held;
    int cancelled_by = 0;
};

acquired wait_for_key(const database& db, const errand& what, signal_inbox& signals) {
    background<holding> attempt{[&](std::stop_token cancel) { return acquire(db, what, cancel); }};
    int cancelled_by = 0;
    bool has_finished = false;
    {
        progress line{db, what.name, what.is_json};
        while (!has_finished) {
            has_finished = wait_for({attempt.source(), signals.source()}, line.tick()) == first;
            while (const auto next = signals.take()) {
                if (*next == SIGCHLD) continue;
                // The first leaves nothing behind; the second is for those who cannot wait.
                if (cancelled_by != 0) end_at_once(*next);
                cancelled_by = *next;
                attempt.cancel();
            }
        }
    }
    if (cancelled_by == 0) return {attempt.take(), 0};
    try {
        return {attempt.take(), cancelled_by};
    } catch (const error&) {
        return {std::nullopt, cancelled_by};  // what failed is not what the user asked for any more
    }
}

// Runs what talks to the database when the command has ended. Hears only a second signal, since the
// first may be the one that ended the command; and when patience is over `give_up` says with what
// status the tool ends at once, leaving the rest to the ttl.
template <class Work, class GiveUp>
auto finish(signal_inbox& signals, milliseconds patience, Work work, GiveUp give_up) {
    const auto until = local_clock::now() + patience;
    background<decltype(work(std::stop_token{}))> ending{std::move(work)};
    int heard = 0;
    while (true) {
        const auto left = std::max(until - local_clock::now(), local_clock::duration{0});
        if (wait_for({ending.source(), signals.source()}, left) == first) return ending.take();
        while (const auto next = signals.take()) {
            if (*next == SIGCHLD) continue;
            if (heard++ > 0) end_at_once(*next);
        }
        if (local_clock::now() >= until) _exit(give_up());
    }
}

failure lost(const errand& what, const lease& held, const std::string& consequence) {
    std::string reason = "it could not be renewed in time";
    if (held.why_lost() == loss_reason::taken_over) reason = "it was freed by force";
    if (held.why_lost() == loss_reason::ended_by_server) reason = "the database ended its session";
    return failure{
        exit_status::lease_lost,
        name_of(errc::lease_lost),
        "the lease on '" + what.name.name() + "' was lost: " + reason + "; " + consequence};
}

// The command has ended, and whether its key is free is not known. What that means for the tool's
// own status: nothing, if the lease was still good by our own clock.
int unreleased(const errand& what, const lease& held, bool was_held, int status, std::string why) {
    if (!was_held) {
        const failure failed =
            lost(what, held, "whether the command was alone until its end is not known");
        report(what.is_json, failed.name(), failed.what());
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

// Whether the command had the key to itself until it ended is for the database to say. Answers with
// the tool's status.
int release(const errand& what, lease& held, int status, signal_inbox& signals) {
    const bool was_held = held.held_locally();
    const auto failed = [&](const std::string& why) {
        return unreleased(what, held, was_held, status, why);
    };
    const auto work = [&](const std::stop_token&) { return held.release(); };
    const auto give_up = [&] { return failed("the database does not answer"); };
    try {
        switch (finish(signals, what.timing.ttl, work, give_up)) {
            case release_outcome::not_held:
                throw failure{
                    exit_status::lease_lost,
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

int run_holding(
    const errand& what,
    const program& command,
    const std::vector<int>& keep_open,
    holding& with,
    signal_inbox& signals
) {
    lease& held = *with.got;
    std::optional<int> status;
    {
        child running{
            command,
            {{"LEASEHOLD_KEY", what.name.name()},
             {"LEASEHOLD_TOKEN", std::to_string(held.token().number)},
             {"LEASEHOLD_OWNER", held.owner().text()}},
            keep_open,
            signals.mask_outside()};
        supervisor watching{held, with.within.settings(), running, signals};
        status = watching.run();
    }
    if (!status) throw lost(what, held, "the command was stopped");
    return release(what, held, *status, signals);
}

// What went wrong is said before the session is ended, which takes time where the database is away.
int run_acquired(
    const errand& what,
    const program& command,
    const std::vector<int>& keep_open,
    acquired& answer,
    signal_inbox& signals
) {
    if (answer.cancelled_by != 0) return exit_status::by_signal + answer.cancelled_by;
    try {
        if (!answer.held->got) throw busy(what, answer.held->got.holder());
        return run_holding(what, command, keep_open, *answer.held, signals);
    } catch (const failure& failed) {
        report(what.is_json, failed.name(), failed.what());
        return failed.status();
    }
}

int run_lock(const errand& what, const program& command, const database& db) {
    const std::vector<int> keep_open = inherited_descriptors();
    signal_inbox signals;
    acquired answer = wait_for_key(db, what, signals);
    const int status = run_acquired(what, command, keep_open, answer, signals);
    if (answer.held) {
        // Releases, too, what was not released before. Whatever cannot be done in this time ends
        // with the ttl.
        constexpr std::chrono::seconds patience{2};
        const auto work = [&](const std::stop_token&) {
            answer.held.reset();
            return true;
        };
        finish(signals, patience, work, [&] { return status; });
    }
    return status;
}

constexpr const char* examples =
    "A lease, not a lock for ever: a heartbeat keeps it while CMD runs, and if this process or "
    "its\n"
    "machine dies, CMD dies, too, and the key is free again within --ttl. If the lease is about "
    "to\n"
    "be lost because the database is away, CMD's process group gets SIGTERM, then SIGKILL, before\n"
    "anybody else can get the key. `unlock --force` frees it first, and CMD is stopped with the\n"
    "next heartbeat.\n"
    "\n"
    "CMD gets LEASEHOLD_KEY, LEASEHOLD_TOKEN (grows with every grant of the key: let your storage\n"
    "refuse lower ones) and LEASEHOLD_OWNER in its environment, standard input and output as they\n"
    "are, and the signals TERM, INT, HUP, QUIT, USR1 and USR2 that are sent to this process.\n"
    "\n"
    "Examples:\n"
    "  leasehold lock nightly-backup -- /usr/local/bin/backup --all\n"
    "  leasehold lock deploy/shop --wait forever -- make deploy\n"
    "  leasehold lock report --wait 5m --ttl 10s -- sh -c 'make report && mail-it'\n"
    "  leasehold lock cache -- curl -H \"Token: $T\" URL || [ $? = 75 ]    # busy is fine\n"
    "\n";

}  // namespace

command add_lock(CLI::App& tool, const global_options& options, const arguments& given) {
    CLI::App* const parser = tool.add_subcommand("lock", "Run a command while holding a key");
    auto chosen = std::make_shared<lock_options>();
    parser->add_option("KEY", chosen->key, "What to lock: 1 to 255 bytes of UTF-8")
        ->required()
        ->option_text(" ");
    parser
        ->add_option(
            "--wait",
            chosen->wait,
            "How long to wait for the key: 0 (default) tries once; 500ms, 5s, 2m, 1h, 1d, forever"
        )
        ->option_text("D");
    parser
        ->add_option(
            "--ttl", chosen->ttl, "Free the key so long after a crash: 1s to 24h; default 30s"
        )
        ->option_text("D");
    parser->footer(std::string(examples) + exit_status_help);
    const auto run = [chosen, &options, &given] {
        session_settings timing;
        timing.ttl = parse_duration(chosen->ttl, "--ttl");
        if (!given.has_separator || given.command.empty()) {
            throw usage_failure(
                "there is no command to run: write `leasehold lock KEY -- CMD [ARG...]`"
            );
        }
        errand what{
            key{chosen->key}, parse_patience(chosen->wait, "--wait"), timing, options.is_json};
        const program command = find_program(given.command);
        what.timing.name = command.name();
        return run_lock(what, command, open_database(options));
    };
    return {parser, run};
}

}  // namespace leasehold::cli
