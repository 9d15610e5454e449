#include "admin/sql_history_store.hpp"

#include <algorithm>

#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

constexpr std::int64_t triggers_there_are = 3;

grant_record grant_in(const row& from) {
    using column = columns::history::list;
    grant_record one;
    one.key = from.bytes(column::key);
    one.token = {from.integer(column::token)};
    one.kind = static_cast<lock_kind>(from.integer(column::kind));
    one.mode = static_cast<hold_mode>(from.integer(column::mode));
    one.permits = from.integer(column::permits);
    one.node_info = from.bytes(column::node_info);
    if (!from.is_null(column::metadata)) one.metadata = from.bytes(column::metadata);
    one.ended_ago = std::chrono::microseconds{from.integer(column::ended_ago)};
    one.held_for = duration_or_nothing(from, column::held_for);
    one.ending = static_cast<grant_ending>(from.integer(column::ending));
    return one;
}

std::vector<grant_record> grants_in(const result& found) {
    std::vector<grant_record> all;
    all.reserve(found.rows.size());
    for (const row& each : found.rows) all.push_back(grant_in(each));
    return all;
}

value value_of_period(const grant_filter& filter) {
    constexpr std::chrono::microseconds ever = std::chrono::hours{24L * 366 * 100};
    return value_of(filter.ended_within.value_or(ever));
}

}  // namespace

bool sql_history_store::are_all_in(const result& found, const std::vector<std::string>& texts) {
    return std::ssize(found.rows) == triggers_there_are &&
           std::ranges::all_of(found.rows, [&](const row& each) {
               const std::string& body = each.bytes(columns::history::triggers::body);
               return std::ranges::any_of(texts, [&](const std::string& text) {
                   return text.find(body) != std::string::npos;
               });
           });
}

void sql_history_store::drop_triggers(connection& on) {
    for (const char* each : {"drop_grant_trigger", "drop_share_trigger", "drop_replace_trigger"}) {
        on.execute(texts_.source(each));
    }
}

void sql_history_store::make_triggers(connection& on) {
    for (const char* each : {"grant_trigger", "share_trigger", "replace_trigger"}) {
        on.execute(texts_.source(each));
    }
}

void sql_history_store::set_rule(
    connection& on, bool is_on, std::optional<std::chrono::microseconds> keep
) {
    inside(on, "set_rule", {is_on ? 1 : 0, value_of(keep)});
}

void sql_history_store::start(connection& on, std::optional<std::chrono::microseconds> keep) {
    if (!has_triggers(on)) {
        drop_triggers(on);
        make_triggers(on);
    }
    set_rule(on, true, keep);
}

void sql_history_store::stop(connection& on) {
    set_rule(on, false, std::nullopt);
    drop_triggers(on);
}

grant_history_status sql_history_store::status(connection& on) {
    using column = columns::history::rule;
    const row found = read(on, "rule").rows.at(0);
    const std::int64_t triggers = number_or(found, column::triggers, triggers_there_are);
    grant_history_status now;
    now.is_on = found.integer(column::is_on) != 0;
    now.keep = duration_of(found, column::keep);
    now.is_broken = now.is_on && triggers != triggers_there_are;
    return now;
}

std::vector<grant_record> sql_history_store::list(connection& on, const grant_filter& filter) {
    const parameters values{
        blob{filter.prefix},
        blob{end_of_prefix(filter.prefix)},
        value_of_period(filter),
        filter.limit};
    return grants_in(read(on, "list", values));
}

std::vector<grant_record> sql_history_store::list_of(
    connection& on, const key& name, const grant_filter& filter
) {
    return grants_in(read(on, "list_of", {value_of(name), value_of_period(filter), filter.limit}));
}

}  // namespace leasehold
