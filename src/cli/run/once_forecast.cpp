#include "cli/run/once_forecast.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/show/described.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::cli {
namespace {

// The result that a call would have now: by the record of runs and, if the record lets the call
// run, by whether somebody holds the key.
struct forecast {
    run_outlook seen;
    bool would_wait = false;  // for the next tick, which is close enough to count
};

forecast forecast_of(const planned_call& wanted, const database& db) {
    forecast made{outlook(db, wanted.what.name, wanted.when, wanted.settings)};
    const auto next = wanted.when.next(made.seen.tick);
    const auto half = (next - made.seen.tick) / 2;
    const auto max_early = std::min<std::chrono::microseconds>(wanted.settings.max_early, half);
    const bool may_run = made.seen.refusal == start_refusal::none;
    made.would_wait = may_run && made.seen.next_in <= max_early;
    const auto holder = may_run && !made.would_wait ? describe(db, wanted.what.name) : std::nullopt;
    if (holder && holder->is_held) {
        made.seen.holder = holder;
        made.seen.refusal = start_refusal::running;
    }
    return made;
}

std::string words_of(const planned_call& wanted, const forecast& made) {
    const run_outlook& seen = made.seen;
    const std::string next = shown(wanted.when.next(seen.tick));
    std::string text = "'" + wanted.what.name.name() + "' would ";
    if (seen.refusal != start_refusal::none) {
        text += "not run now: " + std::string(name_of(seen.refusal));
        if (seen.holder) {
            text += ", it is held by " + seen.holder->node_info + " for " +
                    shown(seen.holder->held_for) + shown_note(*seen.holder);
        }
        if (seen.refusal == start_refusal::closed) {
            text += " for " + shown(seen.last->closed_for);
        }
    } else if (made.would_wait) {
        text += "wait for " + shown(seen.next_in) + " and run, for " + next;
    } else {
        text += "run now, for " + shown(seen.tick);
    }
    text += seen.last ? "; it " + story_of(*seen.last) : "; it has never run";
    return text + "; the next tick is " + next + ", in " + shown(seen.next_in);
}

nlohmann::json json_of_forecast(const planned_call& wanted, const forecast& made) {
    using nlohmann::json;
    const run_outlook& seen = made.seen;
    json last;
    if (seen.last) {
        last = {
            {"tick", shown(seen.last->tick)},
            {"state", name_of(seen.last->state)},
            {"node", seen.last->node_info},
            {"started_seconds_ago", seconds_of(seen.last->started_ago)},
            {"closed_seconds", seconds_of(seen.last->closed_for)},
        };
    }
    return {
        {"name", wanted.what.name.name()},
        {"would_run", seen.refusal == start_refusal::none},
        {"would_wait", made.would_wait},
        {"refusal", name_of(seen.refusal)},
        {"tick", shown(made.would_wait ? wanted.when.next(seen.tick) : seen.tick)},
        {"next", shown(wanted.when.next(seen.tick))},
        {"next_seconds", seconds_of(seen.next_in)},
        {"holder", seen.holder ? json(seen.holder->node_info) : json()},
        {"last", last},
    };
}

}  // namespace

std::string story_of(const run_info& last) {
    std::string story = "was started for " + shown(last.tick) + " by " + last.node_info + " " +
                        shown(last.started_ago) + " ago";
    if (last.state == run_state::running) return story + " and is running";
    if (last.took) {
        story += " and " + std::string(name_of(last.state)) + " after " + shown(*last.took);
        return last.message.empty() ? story : story + " (" + last.message + ")";
    }
    return story + " and never finished";
}

int say_forecast(const database& db, const planned_call& wanted) {
    const forecast made = forecast_of(wanted, db);
    if (wanted.what.is_json) {
        print_json(json_of_forecast(wanted, made));
    } else if (!wanted.what.is_quiet) {
        print_line(printable(words_of(wanted, made)));
    }
    const bool would_run = made.seen.refusal == start_refusal::none;
    return would_run ? exit_status::done : wanted.what.statuses.busy;
}

}  // namespace leasehold::cli
