#include "runs/sql_run_store.hpp"

#include "sql/row_columns.hpp"
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

// The thirteen columns that describe a run: name, tick, token, owner, node_info, microseconds since
// the start, from start to end, until it opens again, state, exit_status, message, schedule or
// null, and whether its owner still holds the lock.
run_info run_info_of(const row& from, std::size_t first) {
    run_info info;
    info.name = from.bytes(first);
    info.tick = instant_of(from.integer(first + 1));
    info.token = {from.integer(first + 2)};
    info.owner = identity_of<owner_id>(from, first + 3);
    info.node_info = from.bytes(first + 4);
    info.started_ago = duration_of(from, first + 5);
    if (!from.is_null(first + 6)) info.took = duration_of(from, first + 6);
    info.closed_for = duration_of(from, first + 7);
    const auto state = from.integer(first + 8);
    if (!from.is_null(first + 9)) info.exit_status = from.integer(first + 9);
    info.message = from.bytes(first + 10);
    if (!from.is_null(first + 11)) info.schedule_text = from.bytes(first + 11);
    if (state == started) {
        const bool is_held = from.integer(first + 12) != 0;
        info.state = is_held ? run_state::running : run_state::abandoned;
    } else {
        info.state = state == succeeded ? run_state::succeeded : run_state::failed;
    }
    return info;
}

// The time, and the run if there is one.
run_look run_look_of(const row& from) {
    run_look seen{instant_of(from.integer(0)), std::nullopt};
    if (!from.is_null(1)) seen.last = run_info_of(from, 1);
    return seen;
}

}  // namespace

run_look sql_run_store::look(connection& on, const key& name) {
    return run_look_of(read(on, "look", {value_of(name)}).rows.at(0));
}

bool sql_run_store::claim(connection& on, const run_claim& wanted) {
    return write(on, "claim", values_of_claim(wanted)).rows.at(0).integer(0) > 0;
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
