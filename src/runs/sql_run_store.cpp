#include "runs/sql_run_store.hpp"

#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

constexpr int started = 1;
constexpr int succeeded = 2;
constexpr int failed = 3;

std::int64_t microseconds_since_1970(schedule::instant when) {
    return when.time_since_epoch().count();
}
schedule::instant instant_of(std::int64_t microseconds_since_1970) {
    return schedule::instant{std::chrono::microseconds{microseconds_since_1970}};
}

run_info run_info_of(const row& from, std::size_t first) {
    using column = columns::run::run;
    const std::size_t exit_status = first + column::exit_status,
                      schedule = first + column::schedule;
    run_info info;
    info.name = from.bytes(first + column::name);
    info.tick = instant_of(from.integer(first + column::tick));
    info.token = {from.integer(first + column::token)};
    info.owner = identity_of<owner_id>(from, first + column::owner);
    info.node_info = from.bytes(first + column::node_info);
    info.started_ago = duration_of(from, first + column::started_ago);
    info.took = duration_or_nothing(from, first + column::took);
    info.closed_for = duration_of(from, first + column::closed_for);
    const auto state = from.integer(first + column::state);
    if (!from.is_null(exit_status)) info.exit_status = from.integer(exit_status);
    info.message = from.bytes(first + column::message);
    if (!from.is_null(schedule)) info.schedule_text = from.bytes(schedule);
    if (state == started) {
        const bool is_held = from.integer(first + column::is_held) != 0;
        info.state = is_held ? run_state::running : run_state::abandoned;
    } else {
        info.state = state == succeeded ? run_state::succeeded : run_state::failed;
    }
    return info;
}

// The time, and the run if there is one.
run_look run_look_of(const row& from) {
    using column = columns::run::look;
    run_look seen{instant_of(from.integer(column::now)), std::nullopt};
    if (!from.is_null(column::run)) seen.last = run_info_of(from, column::run);
    return seen;
}

}  // namespace

run_look sql_run_store::look(connection& on, const key& name) {
    return run_look_of(read(on, "look", {value_of(name)}).rows.at(0));
}

bool sql_run_store::claim(connection& on, const run_claim& wanted) {
    return only_integer(write(on, "claim", values_of_claim(wanted))) > 0;
}

bool sql_run_store::finish(connection& on, const run_finish& what) {
    const auto& exit_status = what.result.exit_status;
    const parameters values{
        value_of(what.name),
        what.token.number,
        value_of(what.owner),
        what.result.has_succeeded ? succeeded : failed,
        exit_status ? value{*exit_status} : value{},
        what.result.message};
    return inside(on, "finish", values).affected_rows == 1;
}

std::vector<run_look> sql_run_store::list(
    connection& on, std::string_view prefix, std::string_view after, int limit
) {
    const parameters range{blob{first_of_page(prefix, after)}, blob{end_of_prefix(prefix)}, limit};
    std::vector<run_look> runs;
    for (const row& each : read(on, "list", range).rows) runs.push_back(run_look_of(each));
    return runs;
}

bool sql_run_store::forget(connection& on, const key& name) {
    return write(on, "forget", {value_of(name)}).affected_rows == 1;
}

parameters sql_run_store::values_of_claim(const run_claim& wanted) {
    return {
        value_of(wanted.name),
        wanted.token.number,
        value_of(wanted.owner),
        wanted.node_info,
        microseconds_since_1970(wanted.tick),
        value_of(wanted.hold_at_least),
        wanted.may_repeat ? 1 : 0,
        text_or_null(wanted.schedule_text)};
}

}  // namespace leasehold
