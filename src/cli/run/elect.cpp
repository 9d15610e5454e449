// `leasehold elect NAME -- CMD…`: runs a command on one host at a time, for as long as it leads.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/key_option.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/candidate.hpp"
#include "cli/run/errand.hpp"
#include "cli/run/unstalled_errors.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

struct elect_options : errand_options {
    key_option name;
};

// The result of a candidacy: the tool's status, or nullopt if the tool has to be a candidate again.
using verdict = std::optional<int>;

void say(const errand& what, const char* event, const std::string& message, const lease& held) {
    if (what.is_quiet) return;
    tell(
        what.is_json,
        event,
        message,
        {{"key", what.name.name()}, {"token", held.token().number}, {"owner", held.owner().text()}}
    );
}

// Reports that this process leads no more; `why` names the failure by which it lost the lease.
void say_resigned(const errand& what, const lease& held, const std::string& why) {
    say(what, "resigned", "no longer leads '" + what.name.name() + "': " + why, held);
}

verdict lead(const errand& what, const program& command, acquired& answer, signal_inbox& signals) {
    lease& held = *answer.held->got;
    const std::string term = " (token " + std::to_string(held.token().number) + ")";
    say(what, "leads", "leads '" + what.name.name() + "'" + term, held);
    try {
        const ending ended =
            run_under(what, command, answer.held->within.settings(), held, signals);
        if (ended.status) {
            const int status = release(what, *answer.held, *ended.status, signals);
            // After `unlock --ask` the next candidate gets the office, and this one waits for its
            // turn.
            if (ended.was_revoked && ended.asked_by == 0) {
                say_resigned(what, held, "it was asked to let go; campaigning again");
                return std::nullopt;
            }
            say_resigned(
                what, held, "the command has ended, with " + std::to_string(*ended.status)
            );
            return status;
        }
        // The signal that ended the command did not ask for another one.
        if (ended.asked_by != 0) throw lost(what, held, "the command was stopped");
        const failure deposed = lost(what, held, "the command was stopped; campaigning again");
        report(what.is_json, deposed);
        return std::nullopt;
    } catch (const failure& failed) {
        report(what.is_json, failed);
        return failed.status();
    }
}

// The last session ends in the background while the next one asks for the key: both take long if
// the database is away.
int campaign(
    candidate& standing, const errand& what, const program& command, signal_inbox& signals
) {
    while (true) {
        acquired answer = standing.wait();
        verdict status;
        if (answer.cancelled_by != 0) {
            status = exit_status::by_signal + answer.cancelled_by;
        } else {
            status = lead(what, command, answer, signals);
        }
        standing.part_with(std::move(answer));
        if (status) return *status;
    }
}

int run_elect(const errand& what, const program& command, const database& db) {
    warn_where_orphans_escape(what.is_json);
    const unstalled_errors unstalled{what.is_json};
    signal_inbox signals;
    candidate standing{db, what, signals};
    int status = exit_status::failed;
    try {
        status = campaign(standing, what, command, signals);
    } catch (const error& failed) {
        const failure explained = with_own_status(what, failure_of(failed));
        report(what.is_json, explained);
        status = explained.status();
    }
    standing.end(status);
    return status;
}

constexpr const char* elect_description =
    "Start this command on every host. One of them is elected and runs CMD; the others wait.\n"
    "When the leader ends, dies, or cannot reach the database, another one is elected within\n"
    "--ttl. A leader that was deposed stops its CMD *before* that (SIGTERM, then SIGKILL,\n"
    "with all that CMD has started), and waits to be elected again, however long the database\n"
    "is away or lets nobody in. If the database is away at the start, this command waits,\n"
    "too; if it lets nobody in at the start, this command ends. When CMD ends by itself, the\n"
    "office is given up, and the exit status is CMD's own.\n"
    "\n"
    "Standard error says when this process is elected, and when it no longer leads. While it\n"
    "waits, standard error says for whom, after two seconds and then at growing intervals of\n"
    "ten minutes at most, or at a terminal on one line, which goes away again; with --quiet\n"
    "it does not. While the database is away, standard error says so at least every ten\n"
    "minutes.\n"
    "\n"
    "CMD gets LEASEHOLD_KEY, LEASEHOLD_TOKEN and LEASEHOLD_OWNER in its environment, and the\n"
    "signals that are sent to this process. The token is the term: it grows with every\n"
    "election, so that your storage can refuse lower ones. `leasehold locks` shows who leads.\n"
    "NAME is a key like those of `lock`, and `lock --help` says what a lease cannot stop.\n";

constexpr const char* elect_examples =
    "\n"
    "Examples:\n"
    "  leasehold elect billing/leader -- ./scheduler\n"
    "  leasehold elect billing/leader --note 'rack 7' -- ./scheduler 2>>scheduler.log\n"
    "  leasehold elect report --ttl 10s -- sh -c 'exec ./report --term \"$LEASEHOLD_TOKEN\"'\n"
    "\n";

}  // namespace

command add_elect(CLI::App& tool, const global_options& options, const arguments& given) {
    CLI::App* const parser = tool.add_subcommand("elect", "Run a command only while leader");
    auto chosen = std::make_shared<elect_options>();
    chosen->name.add(*parser, "NAME", "Of the office: 1 to 255 bytes of UTF-8");
    parser
        ->add_option(
            "--ttl", chosen->ttl, "Elect another so long after a crash: 1s to 24h; default 30s"
        )
        ->option_text("D");
    add_note(*parser, chosen->note);
    add_lost_status(*parser, chosen->statuses);
    parser->add_flag("--quiet", chosen->is_quiet, "Do not say who leads, or that it waits");
    add_until_all_exit(*parser, chosen->waits_for_all);
    parser->footer(
        std::string(elect_description) + environment_help + elect_examples + exit_status_help
    );
    const auto run = [chosen, &options, &given] {
        session_settings timing;
        timing.ttl = parse_duration(chosen->ttl, "--ttl");
        require_command(given, "elect NAME");
        errand what{chosen->name.get(), std::nullopt, timing, options.is_json};
        chosen->apply_to(what);
        what.silent_for = std::chrono::seconds{2};
        what.waits_at_start = true;
        const program command = command_of(given, options);
        what.timing.name = command.name();
        return run_elect(
            what, command, open_database(options, statement_timeout_for(timing), {}, command.name())
        );
    };
    return {parser, run};
}

}  // namespace leasehold::cli
