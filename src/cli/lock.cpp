// `leasehold lock KEY -- CMD…`: runs a command while holding a key.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/arguments.hpp"
#include "cli/child.hpp"
#include "cli/errand.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

struct lock_options {
    std::string key;
    std::string wait = "0";
    std::string ttl = "30s";
};

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

int run_holding(
    const errand& what,
    const program& command,
    const std::vector<int>& keep_open,
    holding& with,
    signal_inbox& signals
) {
    lease& held = *with.got;
    const ending ended = run_under(what, command, keep_open, with, held, signals);
    if (!ended.status) throw lost(what, held, "the command was stopped");
    return release(what, held, *ended.status, signals);
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
        if (answer.held->failed) std::rethrow_exception(answer.held->failed);
        if (!answer.held->got) throw busy(what, answer.held->got.holder());
        return run_holding(what, command, keep_open, *answer.held, signals);
    } catch (const failure& failed) {
        report(what.is_json, failed.name(), failed.what());
        return failed.status();
    } catch (const error& failed) {
        const failure explained = failure_of(failed);
        report(what.is_json, explained.name(), explained.what());
        return explained.status();
    }
}

int run_lock(const errand& what, const program& command, const database& db) {
    const std::vector<int> keep_open = inherited_descriptors();
    signal_inbox signals;
    acquired answer = wait_for_key(db, what, signals);
    const int status = run_acquired(what, command, keep_open, answer, signals);
    let_go(answer, status, signals);
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
        return run_lock(what, command, open_database(options, statement_timeout_for(timing)));
    };
    return {parser, run};
}

}  // namespace leasehold::cli
