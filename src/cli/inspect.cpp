// `leasehold locks`, `sessions` and `unlock`: who holds what, and freeing it by force.
#include "leasehold/inspect.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/described.hpp"
#include "cli/exit_status.hpp"
#include "cli/key_option.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/row_locked.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

std::vector<cell> row_of(const lock_info& lock) {
    const auto where_held = [&](std::string text) { return lock.is_held ? std::move(text) : "-"; };
    return {
        {printable(lock.key)},
        {std::to_string(lock.token.number)},
        {where_held(printable(lock.node_info))},
        {where_held(shown(lock.held_for) + " ago")},
        {where_held(shown(lock.remaining))},
        {where_held(std::to_string(lock.reentrant_count))},
        {shown_kind(lock)},
        {std::to_string(lock.waiters)},
    };
}

// Keys that nobody holds and nobody can be granted.
std::vector<row_lock> closed_by_transactions(const database& db, const std::string& prefix) {
    std::vector<row_lock> closed;
    for (row_lock_info& each : list_row_locks(db, prefix)) {
        closed.push_back(with_lock_of(db, std::move(each)));
    }
    return closed;
}

// Asks for what must lock the key's row; nothing where nobody holds the key.
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

int show_locks(const database& db, const std::string& prefix, bool is_json) {
    table shown_locks{{"KEY", "TOKEN", "HOLDER", "SINCE", "LEFT", "COUNT", "AS", "WAITERS"}};
    for (const lock_info& each : list_locks(db, prefix)) {
        if (is_json) print_json(json_of(each));
        shown_locks.add(row_of(each));
    }
    const std::vector<row_lock> closed = closed_by_transactions(db, prefix);
    for (const row_lock& each : closed) {
        if (is_json) {
            nlohmann::json object = json_of(each.lock);
            object["row_lock"] = fields_of(each.by);
            print_json(object);
        }
        shown_locks.add({
            {printable(each.lock.key)},
            {std::to_string(each.lock.token.number)},
            {printable(each.lock.node_info)},
            {"-"},
            {"ended"},
            {"-"},
            {"row locked"},
            {std::to_string(each.lock.waiters)},
        });
    }
    if (is_json) return exit_status::done;
    shown_locks.print();
    for (const row_lock& each : closed) report(is_json, "row_locked", told(each));
    return exit_status::done;
}

int show_sessions(const database& db, bool is_json) {
    table sessions{{"ID", "NODE", "STARTED", "HEARTBEAT", "LEFT", "STATE"}};
    for (const session_info& each : list_sessions(db)) {
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

int unlock(const database& db, const key& name, bool is_json) {
    const auto freed = of_holder(db, name, [&] { return force_release(db, name); });
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
        std::cerr << "leasehold: '" + printable(name.name()) + "' was free: nothing to do\n";
    }
    return exit_status::done;
}

// What nobody can be asked for is not free.
void refuse_to_ask_for_another_kind(const database& db, const key& name) {
    const auto found = describe(db, name);
    if (!found || !found->is_held || found->kind == lock_kind::mutex) return;
    throw usage_failure(
        "'" + name.name() + "' is held as a " + name_of(found->kind) +
        ", and only the holder of a mutex can be asked: wait for its holders, or take it from "
        "them with --force"
    );
}

int ask(const database& db, const key& name, bool is_json) {
    const auto asked = of_holder(db, name, [&] { return request_revoke(db, name); });
    if (!asked) refuse_to_ask_for_another_kind(db, name);
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
        std::cerr << "leasehold: '" + printable(name.name()) + "' was free: nothing to do\n";
    }
    return exit_status::done;
}

}  // namespace

command add_locks(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("locks", "Show who holds what");
    auto prefix = std::make_shared<std::string>();
    parser->add_option("--prefix", *prefix, "Only keys that begin with P")->option_text("P");
    parser->footer(
        "SINCE is when the key was granted; LEFT is when its holder loses it, should it show no\n"
        "further sign of life: a living holder's goes up again with every heartbeat. COUNT is how\n"
        "often a recursive holder has it; WAITERS how many live calls queue for it: of a key that\n"
        "several can hold only writers are counted, since the others ask again and again.\n"
        "\n"
        "Examples:\n"
        "  leasehold locks\n"
        "  leasehold locks --prefix deploy/\n"
        "  leasehold --json locks | jq -r 'select(.held_seconds > 3600) | .key'\n"
        "\n"
        "Exit status: 0, also where nothing is held; otherwise see `leasehold --help`.\n"
    );
    return {parser, [prefix, &options] {
                return show_locks(open_database(options), *prefix, options.is_json);
            }};
}

command add_sessions(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("sessions", "Show the processes that hold or want something");
    parser->footer(
        "A session whose STATE is dead has expired: what it held is free, and `leasehold reap`, "
        "or\n"
        "any other session in time, removes it.\n"
        "\n"
        "Examples:\n"
        "  leasehold sessions\n"
        "  leasehold --json sessions | jq -r 'select(.state == \"dead\") | .node'\n"
        "\n"
        "Exit status: 0, also where there is none; otherwise see `leasehold --help`.\n"
    );
    return {parser, [&options] { return show_sessions(open_database(options), options.is_json); }};
}

command add_unlock(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("unlock", "Free a key from its holder");
    auto name = std::make_shared<key_option>();
    auto is_forced = std::make_shared<bool>(false);
    auto is_asked = std::make_shared<bool>(false);
    name->add(*parser, "KEY", "What to free");
    CLI::Option* const force =
        parser->add_flag("--force", *is_forced, "At once, although its holder may be at work");
    parser->add_flag("--ask", *is_asked, "Ask the holder to let go")->excludes(force);
    parser->footer(
        "With --force the holder is not asked. Its token becomes stale at once, so that what it\n"
        "writes under proof of its lease, or to storage that compares tokens, is refused; "
        "anything\n"
        "else it does goes on until its next heartbeat tells it, a third of its ttl later at "
        "most.\n"
        "Somebody else can get the key before that. A dead holder needs no force: its keys free\n"
        "themselves.\n"
        "\n"
        "With --ask nothing changes but that the holder's next heartbeat tells it. A command "
        "under\n"
        "`lock` or `elect` gets SIGTERM then, and the key is free when it has ended; a program of\n"
        "your own decides by itself. One that holds for a fixed term is not told. Only the holder "
        "of "
        "a\n"
        "mutex can be asked: not those of a shared key, of permits, of a latch or barrier.\n"
        "\n"
        "Examples:\n"
        "  leasehold unlock nightly-backup --ask\n"
        "  leasehold unlock nightly-backup --force\n"
        "\n"
        "Exit status: 0 freed or asked, or it was free already (said on standard error; in JSON,\n"
        "freed or asked is false); 64 without either, or to ask for a key that is held\n"
        "as no mutex; otherwise see `leasehold --help`.\n"
    );
    return {parser, [name, is_forced, is_asked, &options] {
                const key wanted = name->get();
                if (*is_asked) return ask(open_database(options), wanted, options.is_json);
                if (!*is_forced) {
                    throw usage_failure(
                        "unlock takes the key from a holder that may be at work and will notice "
                        "only with its next heartbeat; if that is what you want, say --force, or "
                        "--ask to ask it first"
                    );
                }
                return unlock(open_database(options), wanted, options.is_json);
            }};
}

}  // namespace leasehold::cli
