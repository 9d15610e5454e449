// `leasehold lock KEY -- CMD…`: runs a command while holding a key.
#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/key_option.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/candidate.hpp"
#include "cli/run/errand.hpp"
#include "cli/run/unstalled_errors.hpp"
#include "cli/show/described.hpp"
#include "cli/show/row_locked.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/semaphore.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

struct lock_options : errand_options {
    key_option name;
    std::string wait = "0";
    std::string lock_delay = "0";
    bool is_shared = false;
    bool is_exclusive = false;
    std::int64_t permits = 0;
    std::int64_t permits_there_are = 0;
};

// Sets the kind of lock that the options ask for; without any a mutex.
void choose_kind(const lock_options& chosen, errand& what) {
    if (chosen.is_shared) what.mode = hold_mode::shared;
    if (chosen.is_exclusive) what.mode = hold_mode::exclusive;
    what.permits = chosen.permits;
    what.permits_there_are = chosen.permits_there_are;
}

// Excludes options of a mutex from these, which would ignore them.
void add_kinds(
    CLI::App& parser, lock_options& chosen, std::initializer_list<CLI::Option*> of_a_mutex
) {
    CLI::Option* const shared = parser.add_flag(
        "--shared", chosen.is_shared, "Beside others that say --shared, for reading"
    );
    CLI::Option* const exclusive = parser.add_flag(
        "--exclusive", chosen.is_exclusive, "Alone, among others that say --shared or --exclusive"
    );
    CLI::Option* const permits =
        parser
            .add_option("--permits", chosen.permits, "Take N permits of a semaphore, all at once")
            ->option_text("N")
            ->check(CLI::Range(std::int64_t{1}, semaphore::max_permits));
    CLI::Option* const of =
        parser.add_option("--of", chosen.permits_there_are, "How many permits there are, for all")
            ->option_text("M")
            ->check(CLI::Range(std::int64_t{1}, semaphore::max_permits));
    permits->needs(of);
    of->needs(permits);
    shared->excludes(exclusive)->excludes(permits);
    exclusive->excludes(permits);
    for (CLI::Option* const each : of_a_mutex) {
        each->excludes(shared)->excludes(exclusive)->excludes(permits);
    }
}

// Describes a holder. For a semaphore it adds the permits in use, which the row of one holder does
// not tell.
std::string shown_holder(const lock_info& holder) {
    const std::string whose = holder.node_info + " for " + shown(holder.held_for) + " (token " +
                              std::to_string(holder.token.number) + ")";
    if (holder.kind != lock_kind::semaphore) return "is held by " + whose;
    std::string text = "has " + std::to_string(holder.permits_in_use) + " of " +
                       std::to_string(holder.capacity) + " permits in use";
    if (holder.permits_in_use == 0) return "is held by " + whose;
    return text + ", " + std::to_string(holder.permits) + " of them by " + whose;
}

// The failure for an obstacle without a lease: an open transaction, or somebody who was quicker.
failure busy(const errand& what, const std::optional<lock_info>& holder, const database& db) {
    if (!holder) {
        if (const auto found = find_lock_of_row(db, what.name)) {
            return row_locked(*found, "'" + what.name.name() + "' is not free")
                .with(what.statuses.busy);
        }
    }
    std::string message = "'" + what.name.name() + "' ";
    nlohmann::json more{{"key", what.name.name()}, {"holder", nullptr}};
    if (holder) {
        more = json_of(*holder);
        message += shown_holder(*holder) + shown_note(*holder) +
                   "; if that holder has died it is free in at most " + shown(holder->remaining);
    } else {
        message += "was held by somebody else, who has just let go of it";
    }
    const bool has_waited = what.timeout != milliseconds{0};
    message += has_waited ? "; wait longer with --wait, or see `leasehold locks`"
                          : "; wait for it with --wait";
    return failure{what.statuses.busy, name_of(errc::busy), message}.with(std::move(more));
}

// The refusal was about one holder. This reads the totals of all holders, and leaves out what it
// cannot read.
std::optional<lock_info> with_totals(const database& db, const std::optional<lock_info>& holder) {
    if (!holder) return holder;
    std::optional<lock_info> told = holder;
    if (told->kind == lock_kind::mutex) told->holders = 1;
    if (told->kind != lock_kind::semaphore) return told;
    try {
        const auto all = describe(db, key{holder->key});
        if (!all || all->kind != lock_kind::semaphore) return told;
        told->permits_in_use = all->permits_in_use;
        told->capacity = all->capacity;
        told->holders = all->holders;
    } catch (const error&) {
        return told;
    }
    return told;
}

int run_holding(const errand& what, const program& command, holding& with, signal_inbox& signals) {
    lease& held = *with.got;
    const ending ended = run_under(what, command, with.within.settings(), held, signals);
    if (!ended.status) throw lost(what, held, "the command was stopped");
    return release(what, with, *ended.status, signals);
}

// Reports a failure before the session ends, which takes long if the database is away.
int run_acquired(
    const database& db,
    const errand& what,
    const program& command,
    acquired& answer,
    signal_inbox& signals
) {
    if (answer.cancelled_by != 0) return exit_status::by_signal + answer.cancelled_by;
    try {
        const acquisition& got = answer.held->got;
        if (!got && what.is_quiet) return what.statuses.busy;
        if (!got) {
            throw explain(signals, [&] { return busy(what, with_totals(db, got.holder()), db); });
        }
        return run_holding(what, command, *answer.held, signals);
    } catch (const failure& failed) {
        report(what.is_json, failed);
        return failed.status();
    }
}

int run_lock(const errand& what, const program& command, const database& db) {
    warn_where_orphans_escape(what.is_json);
    const unstalled_errors unstalled{what.is_json};
    signal_inbox signals;
    candidate wanting{db, what, signals};
    int status = exit_status::failed;
    try {
        acquired answer = wanting.wait();
        status = run_acquired(db, what, command, answer, signals);
        wanting.part_with(std::move(answer));
    } catch (const error& failed) {
        const failure why = with_own_status(what, explain(signals, [&] {
                                                return explained(failed, db, what.name);
                                            }));
        const bool is_busy = why.name() == std::string_view{name_of(errc::busy)};
        if (!what.is_quiet || !is_busy) report(what.is_json, why);
        status = why.status();
    }
    wanting.end(status);
    return status;
}

constexpr const char* lock_description =
    "A lease holds KEY, not for ever: a heartbeat keeps the lease while CMD runs. If this\n"
    "process or its machine dies, CMD dies, too, and the key is free again within --ttl. If\n"
    "the lease is about to be lost because the database is away, CMD and all that it has\n"
    "started get SIGTERM, then SIGKILL, before anybody else can get the key. `unlock --force`\n"
    "frees the key at once, and CMD is stopped with the next heartbeat.\n"
    "\n"
    "CMD gets LEASEHOLD_KEY, LEASEHOLD_TOKEN and LEASEHOLD_OWNER in its environment, standard\n"
    "input and output as they are, and the signals TERM, INT, HUP, QUIT, USR1 and USR2 that\n"
    "are sent to this process. The token grows with every grant of the key: let your storage\n"
    "refuse lower ones.\n";

constexpr const char* lock_examples =
    "\n"
    "While the command waits, standard error says for whom: at a terminal on one line, which\n"
    "goes away again; elsewhere after a minute, and then at growing intervals of ten minutes\n"
    "at most.\n"
    "\n"
    "A key is locked in one way at a time: plainly, by --shared and --exclusive, or by --permits.\n"
    "\n"
    "Examples:\n"
    "  leasehold lock nightly-backup -- /usr/local/bin/backup --all\n"
    "  leasehold lock deploy/shop --wait forever -- make deploy\n"
    "  leasehold lock deploy/shop --note 'release 4.2, ada' -- make deploy\n"
    "  leasehold lock report --wait 5m --ttl 10s -- sh -c 'make report && mail-it'\n"
    "  leasehold lock site --shared --wait 1m -- rsync -a site/ mirror:\n"
    "  leasehold lock site --exclusive --wait 1m -- make install\n"
    "  leasehold lock licences --permits 2 --of 5 --wait forever -- render scene\n"
    "  leasehold lock cache --quiet --busy-status 0 -- make cache    # busy is fine\n"
    "\n";

}  // namespace

command add_lock(CLI::App& tool, const global_options& options, const arguments& given) {
    CLI::App* const parser = tool.add_subcommand("lock", "Run a command while holding a key");
    auto chosen = std::make_shared<lock_options>();
    chosen->name.add(*parser, "KEY", "What to lock: 1 to 255 bytes of UTF-8");
    parser
        ->add_option(
            "--wait",
            chosen->wait,
            "How long to wait for the key, and for a database that is away: 0 (default) tries "
            "once; 500ms, 5s, 2m, 1h, 1d; or forever, where the database is to answer at first"
        )
        ->option_text("D");
    parser
        ->add_option(
            "--ttl", chosen->ttl, "Free the key so long after a crash: 1s to 24h; default 30s"
        )
        ->option_text("D");
    CLI::Option* const delay =
        parser
            ->add_option(
                "--lock-delay",
                chosen->lock_delay,
                "Keep the key closed so long after this holder died: 0 (default) to 60s; not with "
                "--shared, --exclusive or --permits, which are never closed to all"
            )
            ->option_text("D");
    add_kinds(*parser, *chosen, {delay, add_note(*parser, chosen->note)});
    add_busy_status(*parser, chosen->statuses);
    add_lost_status(*parser, chosen->statuses);
    parser->add_flag(
        "--quiet", chosen->is_quiet, "Say nothing where somebody else holds it, or while waiting"
    );
    add_until_all_exit(*parser, chosen->waits_for_all);
    parser->footer(
        std::string(lock_description) + environment_help + "\n" + unstoppable_help + lock_examples +
        exit_status_help
    );
    const auto run = [chosen, &options, &given] {
        session_settings timing;
        timing.ttl = parse_duration(chosen->ttl, "--ttl");
        require_command(given, "lock KEY");
        errand what{
            chosen->name.get(), parse_timeout(chosen->wait, "--wait"), timing, options.is_json};
        what.lock_delay = parse_duration(chosen->lock_delay, "--lock-delay");
        chosen->apply_to(what);
        choose_kind(*chosen, what);
        if (what.permits > what.permits_there_are) {
            throw usage_failure(
                "--permits " + std::to_string(what.permits) + " cannot be had --of " +
                std::to_string(what.permits_there_are) + ": ask for no more than there are"
            );
        }
        const program command = command_of(given, options);
        what.timing.name = command.name();
        const database db =
            open_database(options, statement_timeout_for(timing), what.timeout, command.name());
        return run_lock(what, command, db);
    };
    return {parser, run};
}

}  // namespace leasehold::cli
