// `leasehold locks`: the holders, the waiters, and the free keys.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/show/described.hpp"
#include "cli/show/lock_watch.hpp"
#include "cli/show/row_locked.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::cli {
namespace {

struct locks_options {
    std::string prefix;
    bool with_free = false;
    bool with_waiters = false;
    bool is_watched = false;
    std::string every = "1s";
};

// Keys that nobody holds and nobody can be granted, in the order of their names.
std::vector<row_lock> closed_by_transactions(const database& db, const std::string& prefix) {
    std::vector<row_lock> closed;
    for (row_lock_info& each : list_row_locks(db, prefix)) {
        closed.push_back(with_lock_of(db, std::move(each)));
    }
    return closed;
}

std::vector<cell> row_of_closed(const row_lock& closed) {
    return {
        {printable(closed.lock.key)},
        {std::to_string(closed.lock.token.number)},
        {printable(closed.lock.node_info)},
        {"-"},
        {"ended"},
        {"-"},
        {"row locked"},
        {std::to_string(closed.lock.waiters)},
        {""},
    };
}

// The held keys, and with them, in the order of keys, the free ones. Those come by the page, so
// that a database of very many keys is shown in little memory.
class lock_list {
public:
    lock_list(const database& db, const locks_options& chosen, bool is_json)
        : database_(db),
          chosen_(chosen),
          is_json_(is_json),
          held_(list_locks(db, chosen.prefix)),
          closed_(closed_by_transactions(db, chosen.prefix)) {}

    void show() {
        if (chosen_.with_free) show_free();
        while (next_held_ < held_.size()) show(held_[next_held_++]);
        for (const row_lock& each : closed_) {
            if (is_json_) print_closed(each);
            shown_.add(row_of_closed(each));
        }
        if (is_json_) return;
        shown_.print();
        for (const row_lock& each : closed_) report(is_json_, "row_locked", told(each));
    }

private:
    void show(const lock_info& lock) {
        if (is_json_) {
            print_json(json_of(lock));
        } else {
            shown_.add(row_of(lock));
        }
    }

    static void print_closed(const row_lock& closed) {
        nlohmann::json object = json_of(closed.lock);
        object["row_lock"] = fields_of(closed.by);
        print_json(object);
    }

    bool is_closed(const std::string& key) const {
        return std::any_of(closed_.begin(), closed_.end(), [&](const row_lock& each) {
            return each.lock.key == key;
        });
    }

    void show_free() {
        lock_filter filter{.prefix = chosen_.prefix, .limit = 1000};
        do {
            const auto some = list_free_keys(database_, filter);
            for (const lock_info& each : some) show_in_turn(each);
            if (!is_json_) shown_.print();
            require_written();
            filter.after = some.next;
        } while (filter.after);
    }

    // If a key was released after the held keys were listed, it is shown as held.
    void show_in_turn(const lock_info& free) {
        while (next_held_ < held_.size() && held_[next_held_].key < free.key) {
            show(held_[next_held_++]);
        }
        const bool was_held = next_held_ < held_.size() && held_[next_held_].key == free.key;
        if (!was_held && !is_closed(free.key)) show(free);
    }

    const database& database_;
    const locks_options& chosen_;
    const bool is_json_;
    const std::vector<lock_info> held_;
    const std::vector<row_lock> closed_;
    std::size_t next_held_ = 0;
    table shown_{lock_heading()};
};

int show_waiters(const database& db, const std::string& prefix, bool is_json) {
    table waiters{{"KEY", "PLACE", "WAITER", "SINCE", "SESSION"}};
    std::string key;
    std::int64_t place = 0;
    for (const waiter_info& each : list_waiters(db, {.prefix = prefix})) {
        if (each.key != key) place = 0;
        key = each.key;
        ++place;
        if (is_json) {
            nlohmann::json object = json_of(each);
            object["key"] = each.key;
            object["place"] = place;
            print_json(object);
            continue;
        }
        waiters.add({
            {printable(each.key)},
            {std::to_string(place)},
            {printable(each.node_info)},
            {shown(each.waits_for) + " ago"},
            {each.session.text()},
        });
    }
    if (!is_json) waiters.print();
    return exit_status::done;
}

std::chrono::milliseconds pause_of(const locks_options& chosen) {
    const auto pause = parse_duration(chosen.every, "--every");
    constexpr std::chrono::milliseconds shortest{100};
    if (pause < shortest) throw usage_failure("--every must be at least 100ms");
    return pause;
}

int run_locks(const database& db, const locks_options& chosen, bool is_json) {
    if (chosen.with_waiters) return show_waiters(db, chosen.prefix, is_json);
    lock_list{db, chosen, is_json}.show();
    return exit_status::done;
}

constexpr const char* locks_help =
    "SINCE is when the key was granted. LEFT is when its holder loses it without a further\n"
    "sign of life; each heartbeat of a living holder raises LEFT again. COUNT is how often a\n"
    "recursive holder has the key. WAITERS is how many live calls queue for the key; of a key\n"
    "that several can hold only writers are counted, since the others ask again and again.\n"
    "NOTE is the holder's own text, for instance by --note.\n"
    "\n"
    "--all shows free keys, too: LEFT says that they are free, HOLDER is the last holder, and\n"
    "SINCE is when that hold ended (of a key that several can hold, when it was granted\n"
    "last). Keys that were idle for longer than the clean-up keeps them are not there.\n"
    "\n"
    "--waiters shows those who wait instead, for each key in the order in which they get it.\n"
    "Nobody queues for permits or to share a key: such callers ask again and again.\n"
    "\n"
    "--watch reads the table every second (--every), and shows it in the same place. If\n"
    "standard output is no terminal, and with --json, it prints what is held at first and\n"
    "then each change, a line each: held, granted, ended, waiting. It does not see what comes\n"
    "and goes between two readings. It waits for a database that is away. Ctrl-C or SIGTERM\n"
    "ends it, with 0.\n"
    "\n"
    "Examples:\n"
    "  leasehold locks\n"
    "  leasehold locks --prefix deploy/ --waiters\n"
    "  leasehold locks --all | sort -k 3\n"
    "  leasehold locks --watch --every 5s\n"
    "  leasehold --json locks --watch | jq --unbuffered -c 'select(.change == \"granted\")'\n"
    "  leasehold --json locks | jq -r 'select(.held_seconds > 3600) | .key'\n"
    "\n"
    "Exit status: 0, also if nothing is held; otherwise see `leasehold --help`.\n";

}  // namespace

command add_locks(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("locks", "Show who holds what");
    auto chosen = std::make_shared<locks_options>();
    parser->add_option("--prefix", chosen->prefix, "Only keys that begin with P")->option_text("P");
    CLI::Option* const all =
        parser->add_flag("--all", chosen->with_free, "Free keys, too, and who had them last");
    CLI::Option* const waiters = parser->add_flag(
        "--waiters", chosen->with_waiters, "Who waits, in which order, and since when"
    );
    CLI::Option* const watch =
        parser->add_flag("--watch", chosen->is_watched, "Go on, and show what changes");
    all->excludes(waiters);
    watch->excludes(all)->excludes(waiters);
    parser->add_option("--every", chosen->every, "Look so often: 100ms or more; default 1s")
        ->option_text("D")
        ->needs(watch);
    parser->footer(locks_help);
    return {parser, [chosen, &options] {
                const auto pause = pause_of(*chosen);
                const database db = open_database(options);
                if (chosen->is_watched) {
                    return watch_locks(db, chosen->prefix, pause, options.is_json);
                }
                return run_locks(db, *chosen, options.is_json);
            }};
}

}  // namespace leasehold::cli
