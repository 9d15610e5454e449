// `leasehold top`: the contents of `serve`, at a terminal, renewed in place.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/events.hpp"
#include "cli/watch/screen.hpp"
#include "cli/watch/snapshot.hpp"
#include "cli/watch/top_lines.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

int show_once(overview& all, const std::string& place) {
    const auto [now, is_late] = all.latest();
    if (!now || is_late) {
        throw failure{
            exit_status::unreachable, "timed_out", "the database does not answer in time"};
    }
    if (now->failure && !now->taken) {
        throw failure{now->failure_status, now->failure_name, *now->failure};
    }
    const top_view view{.place = place, .is_coloured = is_colourful(STDOUT_FILENO)};
    for (const std::string& each : all_lines(*now, view)) {
        print_line(std::string_view{each}.substr(0, each.find_last_not_of(' ') + 1));
    }
    return exit_status::done;
}

// Holds the part that is shown, and changes it as keys say.
class watcher {
public:
    watcher(overview& all, std::string place)
        : all_(all), view_{.place = std::move(place), .is_coloured = is_colourful(STDOUT_FILENO)} {}

    void look() {
        const auto [now, is_late] = all_.latest();
        if (now) now_ = now;
        view_.is_late = is_late;
    }
    bool is_late() const noexcept { return view_.is_late; }

    void draw(const screen& on) {
        const screen_size size = on.size();
        view_.scrolled = std::clamp(view_.scrolled, 0, max_scroll(*now_, view_, size));
        on.draw(top_lines(*now_, view_, size));
    }

    // False if the command is to end.
    bool press(const key_press& key, screen_size size) {
        const int page = std::max(size.rows - 6, 1);
        switch (key.what) {
            case pressed::quit:
                return false;
            case pressed::next_pane:
                turn_to(static_cast<int>(view_.shown) + 1);
                break;
            case pressed::previous_pane:
                turn_to(static_cast<int>(view_.shown) + pane_count - 1);
                break;
            case pressed::digit:
                if (key.digit <= pane_count) turn_to(key.digit - 1);
                break;
            case pressed::up:
                --view_.scrolled;
                break;
            case pressed::down:
                ++view_.scrolled;
                break;
            case pressed::page_up:
                view_.scrolled -= page;
                break;
            case pressed::page_down:
                view_.scrolled += page;
                break;
            case pressed::first:
                view_.scrolled = 0;
                break;
            case pressed::last:
                view_.scrolled = max_scroll(*now_, view_, size);
                break;
            case pressed::redraw:
            case pressed::nothing:
                break;
        }
        return true;
    }

private:
    void turn_to(int which) {
        view_.shown = static_cast<pane>(which % pane_count);
        view_.scrolled = 0;
    }

    overview& all_;
    top_view view_;
    std::shared_ptr<const snapshot> now_ = std::make_shared<const snapshot>();
};

void watch(
    overview& all,
    const std::string& place,
    std::chrono::milliseconds interval,
    signal_inbox& signals
) {
    screen shown_on;
    watcher watching{all, place};
    while (true) {
        watching.look();
        watching.draw(shown_on);
        const auto until = local_clock::now() + (watching.is_late() ? 200ms : interval);
        // Until the next look is due, answers keys and a new size with the present snapshot.
        while (true) {
            const auto left = until - local_clock::now();
            if (left <= left.zero()) break;
            const auto heard =
                wait_for({signals.source(), shown_on.resizes(), shown_on.keys()}, left);
            if (heard == 0 && signals.is_asked_to_end()) return;
            if (heard == 1) shown_on.hush_resizes();
            if (heard == 2) {
                for (const key_press& each : shown_on.read_keys()) {
                    if (!watching.press(each, shown_on.size())) return;
                }
            }
            if (heard) watching.draw(shown_on);
        }
    }
}

int watch(const database& db, const std::string& place, std::chrono::milliseconds interval) {
    signal_inbox signals;  // before the thread that reads
    // A database that does not answer must not keep keys waiting.
    overview all{db, {.interval = interval, .timeout = 100ms}};
    watch(all, place, interval, signals);
    // The tool does not wait for a read that gets no answer, since nothing depends on its end.
    if (all.is_reading()) _exit(exit_status::done);
    return exit_status::done;
}

constexpr const char* top_help =
    "The panes: 1 locks, 2 sessions, 3 queues, 4 runs and schedules, 5 failing jobs, 6 what\n"
    "the doctor found. Tab, the left and right arrows or a number turn to another pane, the\n"
    "up and down arrows scroll, q ends it. The database is read once in each --interval, and\n"
    "never more than a fifth of the time; rights to read suffice. If standard output is no\n"
    "terminal, all panes are printed once, as with --once.\n"
    "\n"
    "Examples:\n"
    "  leasehold top\n"
    "  leasehold top --interval 10s\n"
    "  leasehold top --once | less -R\n"
    "\n"
    "Exit status: 0; otherwise see `leasehold --help`.\n";

}  // namespace

command add_top(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("top", "Watch locks, sessions and queues");
    struct top_options {
        std::string interval = "2s";
        bool is_once = false;
    };
    auto chosen = std::make_shared<top_options>();
    parser->add_option("--interval", chosen->interval, "Read once in D; default 2s")
        ->option_text("D");
    parser->add_flag("--once", chosen->is_once, "Print it once, without a terminal's tricks");
    parser->footer(top_help);
    return {parser, [chosen, &options]() -> int {
                const auto interval = parse_duration(chosen->interval, "--interval");
                if (interval < 100ms) throw usage_failure("--interval is 100ms at least");
                if (options.is_json) {
                    throw usage_failure(
                        "top is for people: --json is of locks, sessions, runs, queue and job list"
                    );
                }
                const std::string place = place_of(url_of(options));
                const database db = open_database(options);
                if (!chosen->is_once && screen::is_possible()) return watch(db, place, interval);
                overview all{db, {.interval = interval, .timeout = 20s}};
                try {
                    return show_once(all, place);
                } catch (const failure& failed) {
                    if (!all.is_reading()) throw;
                    // This exit does not wait for a read that is under way, either.
                    report(options.is_json, failed);
                    _exit(failed.status());
                }
            }};
}

}  // namespace leasehold::cli
