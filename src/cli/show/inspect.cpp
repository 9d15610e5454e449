// `leasehold sessions` and `unlock`: the sessions, and freeing a key from its holder.
#include "leasehold/inspect.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/exit_status.hpp"
#include "cli/key_option.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/events.hpp"
#include "cli/show/described.hpp"
#include "cli/show/row_locked.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

using wait_limit = std::optional<std::chrono::milliseconds>;  // nullopt: for ever

struct unlock_options {
    key_option name;
    bool is_forced = false;
    bool is_asked = false;
    std::optional<std::int64_t> token;
    std::string wait;
};

// Makes a request that must lock the key's row; nullopt if nobody holds the key.
template <class Ask>
std::optional<lock_info> of_holder(const database& db, const key& name, Ask&& ask) {
    std::optional<lock_info> holder;
    try {
        holder = ask();
    } catch (const error& failed) {
        throw explained(failed, db, name);
    }
    if (holder) return holder;
    if (const auto found = find_lock_of_row(db, name)) {
        throw row_locked(*found, "nobody holds '" + name.name() + "', and yet it is not free");
    }
    return std::nullopt;
}

int show_sessions(const database& db, bool is_live_wanted, bool is_json) {
    table sessions{{"ID", "NODE", "STARTED", "HEARTBEAT", "LEFT", "STATE"}};
    for (const session_info& each : list_sessions(db)) {
        if (is_live_wanted && !each.is_live) continue;
        const std::string state = each.is_live ? "live" : "dead";
        if (is_json) {
            print_json({
                {"id", each.id.text()},
                {"node", each.node_info},
                {"started_seconds_ago", seconds_of(each.started_ago)},
                {"heartbeat_seconds_ago", seconds_of(each.heartbeat_ago)},
                {"left_seconds", seconds_of(each.remaining)},
                {"state", state},
            });
        }
        sessions.add({
            {each.id.text()},
            {printable(each.node_info)},
            {shown(each.started_ago) + " ago"},
            {shown(each.heartbeat_ago) + " ago"},
            {shown(each.remaining)},
            {state, each.is_live ? style::plain : style::red},
        });
    }
    if (!is_json) sessions.print();
    return exit_status::done;
}

std::string shown_freed(const key& name, const lock_info& freed) {
    std::string text = "'" + printable(name.name()) + "'";
    if (freed.is_held) {
        text = "freed " + text + " from " + printable(freed.node_info) + " (token " +
               std::to_string(freed.token.number) + ", held for " + shown(freed.held_for) + ")";
        if (freed.holders > 1) text += " and " + std::to_string(freed.holders - 1) + " more";
        if (freed.arrived == 0) return text;
        return text + "; it was a latch, " + shown_arrivals(freed) + ", and is empty now";
    }
    const std::string open = freed.arrived == freed.capacity ? "open, " : "";
    return text + " was a latch, " + open + shown_arrivals(freed) + ": it is closed and empty now";
}

void say_free(const key& name) {
    std::cerr << "leasehold: '" + printable(name.name()) + "' was free: nothing to do\n";
}

// The failure if the key now has another grant than the one that the user meant.
failure another_grant(const key& name, fencing_token meant, const lock_info& now) {
    const std::string token = std::to_string(meant.number);
    if (now.kind != lock_kind::mutex) {
        return usage_failure(
            "'" + name.name() + "' is held as a " + name_of(now.kind) +
            ", whose holders --force frees all at once: --token is of a mutex"
        );
    }
    return failure{
        exit_status::not_acquired,
        name_of(errc::busy),
        "'" + name.name() + "' is not held under token " + token + ": " + now.node_info +
            " has it now, under token " + std::to_string(now.token.number) + ", for " +
            shown(now.held_for) + shown_note(now) + "; it was left alone"}
        .with(json_of(now));
}

// nullopt if the key is free.
std::optional<lock_info> free_this_grant(const database& db, const key& name, fencing_token only) {
    return of_holder(db, name, [&] {
        auto freed = force_release(db, name, only);
        if (freed) return freed;
        const auto now = describe(db, name);
        const bool is_used = now && (now->is_held || now->arrived > 0);
        if (is_used) throw another_grant(name, only, *now);
        return freed;
    });
}

int unlock(const database& db, const key& name, std::optional<std::int64_t> token, bool is_json) {
    const auto freed = token ? free_this_grant(db, name, {*token})
                             : of_holder(db, name, [&] { return force_release(db, name); });
    if (is_json) {
        nlohmann::json object{{"key", name.name()}, {"freed", freed.has_value()}};
        if (freed) {
            object["token"] = freed->token.number;
            object["holder"] = freed->is_held ? nlohmann::json(freed->node_info) : nlohmann::json();
            object["holders"] = freed->holders;
            object["arrived"] = freed->arrived;
        }
        print_json(object);
    } else if (freed) {
        print_line(shown_freed(name, *freed));
    } else {
        say_free(name);
    }
    return exit_status::done;
}

// A key whose holder cannot be asked is not free.
void refuse_to_ask_for_another_kind(const database& db, const key& name) {
    const auto found = describe(db, name);
    if (!found || !found->is_held || found->kind == lock_kind::mutex) return;
    throw usage_failure(
        "'" + name.name() + "' is held as a " + name_of(found->kind) +
        ", and only the holder of a mutex can be asked: wait for its holders, or take it from "
        "them with --force"
    );
}

void say_asked(const key& name, const std::optional<lock_info>& asked, bool is_json) {
    if (is_json) {
        nlohmann::json object{{"key", name.name()}, {"asked", asked.has_value()}};
        if (asked) {
            object["token"] = asked->token.number;
            object["holder"] = asked->node_info;
        }
        print_json(object);
    } else if (asked) {
        print_line(
            "asked " + printable(asked->node_info) + " to let go of '" + printable(name.name()) +
            "' (token " + std::to_string(asked->token.number) + ", held for " +
            shown(asked->held_for) + ")"
        );
    } else {
        say_free(name);
    }
}

// Waits until that grant has gone, even where another holder follows.
void wait_for_end_of(
    const database& db,
    const key& name,
    const lock_info& asked,
    const wait_limit& wait,
    bool is_json
) {
    constexpr std::chrono::milliseconds first_pause{50};
    constexpr std::chrono::milliseconds longest_pause{1000};
    const auto began = local_clock::now();
    auto pause = first_pause;
    while (true) {
        const auto now = describe(db, name);
        const bool is_there = now && now->is_held && now->owner == asked.owner;
        const auto waited =
            std::chrono::duration_cast<std::chrono::milliseconds>(local_clock::now() - began);
        if (!is_there) {
            const bool is_next = now && now->is_held;
            print_result(
                is_json,
                {
                    {"key", name.name()},
                    {"gone", true},
                    {"waited_seconds", seconds_of(waited)},
                    {"holder", is_next ? nlohmann::json(now->node_info) : nlohmann::json()},
                },
                "'" + printable(name.name()) + "' was let go after " + shown(waited) +
                    (is_next ? "; " + printable(now->node_info) + " has it now" : "")
            );
            return;
        }
        if (wait && waited >= *wait) {
            throw failure{
                exit_status::not_acquired,
                name_of(errc::busy),
                "'" + name.name() + "' is still held by " + now->node_info + " (token " +
                    std::to_string(now->token.number) + "), who was asked " + shown(waited) +
                    " ago" + shown_note(*now)}
                .with(json_of(*now));
        }
        const auto left = wait ? std::min(pause, *wait - waited) : pause;
        wait_for({}, std::max(left, std::chrono::milliseconds{1}));
        pause = std::min(2 * pause, longest_pause);
    }
}

int ask(const database& db, const key& name, const std::optional<wait_limit>& wait, bool is_json) {
    const auto asked = of_holder(db, name, [&] { return request_revoke(db, name); });
    if (!asked) refuse_to_ask_for_another_kind(db, name);
    say_asked(name, asked, is_json);
    if (!asked || !wait) return exit_status::done;
    require_written();
    wait_for_end_of(db, name, *asked, *wait, is_json);
    return exit_status::done;
}

constexpr const char* unlock_help =
    "--force does not ask the holder. The holder's token becomes stale at once: what the\n"
    "holder writes under proof of its lease, or to storage that compares tokens, is refused.\n"
    "All else that the holder does goes on until its next heartbeat tells it, at most a third\n"
    "of its ttl later, and somebody else can get the key before that. A dead holder needs no\n"
    "force: its keys free themselves.\n"
    "\n"
    "--ask changes nothing but that the holder's next heartbeat tells the holder. A command\n"
    "under `lock` or `elect` then gets SIGTERM, and the key is free when the command has\n"
    "ended. A program of your own decides by itself. A holder with a fixed term is not told.\n"
    "Only the holder of a mutex can be asked, not those of a shared key, of permits, of a\n"
    "latch or of a barrier.\n"
    "\n"
    "With --token only the grant that had that token when you looked is freed. If somebody\n"
    "else has got the key since, that holder keeps the key, and is named (75).\n"
    "\n"
    "With --wait the command waits until the holder that was asked has let go, even if\n"
    "somebody else has the key then (0), or until the time is over (75). Nothing is taken\n"
    "from the holder.\n"
    "\n"
    "Examples:\n"
    "  leasehold unlock nightly-backup --ask\n"
    "  leasehold unlock nightly-backup --ask --wait 30s || leasehold unlock nightly-backup "
    "--force\n"
    "  leasehold unlock nightly-backup --force --token 42\n"
    "\n"
    "Exit status: 0 if the key was freed or its holder was asked, or if the key was free\n"
    "already (standard error says so; in JSON, freed or asked is false); 64 without --force\n"
    "and --ask, and if a key that is not held as a mutex was to be asked for, or to be freed\n"
    "by its token; 75 if the key is held under another token, or was still held when the time\n"
    "was over; otherwise see `leasehold --help`.\n";

}  // namespace

command add_sessions(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("sessions", "Show the processes that hold or want something");
    auto is_live = std::make_shared<bool>(false);
    parser->add_flag("--live", *is_live, "Only those that live");
    parser->footer(
        "A session whose STATE is dead has expired: what it held is free, and `leasehold reap`, "
        "or\n"
        "any other session in time, removes it.\n"
        "\n"
        "Examples:\n"
        "  leasehold sessions --live\n"
        "  leasehold --json sessions | jq -r 'select(.state == \"dead\") | .node'\n"
        "\n"
        "Exit status: 0, also where there is none; otherwise see `leasehold --help`.\n"
    );
    return {parser, [is_live, &options] {
                return show_sessions(open_database(options), *is_live, options.is_json);
            }};
}

command add_unlock(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("unlock", "Free a key from its holder");
    auto chosen = std::make_shared<unlock_options>();
    chosen->name.add(*parser, "KEY", "What to free");
    CLI::Option* const force = parser->add_flag(
        "--force", chosen->is_forced, "At once, although its holder may be at work"
    );
    CLI::Option* const asks =
        parser->add_flag("--ask", chosen->is_asked, "Ask the holder to let go")->excludes(force);
    parser
        ->add_option(
            "--token",
            chosen->token,
            "Only if the key is held under this token, which `locks` shows"
        )
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()))
        ->needs(force);
    parser->add_option("--wait", chosen->wait, "Wait so long for the holder to let go; or forever")
        ->option_text("D")
        ->needs(asks);
    parser->footer(unlock_help);
    return {parser, [chosen, &options] {
                const key wanted = chosen->name.get();
                if (chosen->is_asked) {
                    std::optional<wait_limit> wait;
                    if (!chosen->wait.empty()) wait = parse_timeout(chosen->wait, "--wait");
                    return ask(open_database(options), wanted, wait, options.is_json);
                }
                if (!chosen->is_forced) {
                    throw usage_failure(
                        "unlock takes the key from a holder that may be at work and will notice "
                        "only with its next heartbeat; if that is what you want, say --force, or "
                        "--ask to ask it first"
                    );
                }
                return unlock(open_database(options), wanted, chosen->token, options.is_json);
            }};
}

}  // namespace leasehold::cli
