#include "admin/sql_history_store.hpp"

#include <algorithm>

#include "sql/row_columns.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

constexpr std::int64_t triggers_there_are = 3;

// Key, token, kind, mode, permits, node_info, metadata or null, microseconds since the end,
// microseconds of the hold or null, and how it ended.
grant_record grant_in(const row& from) {
    grant_record one;
    one.key = from.bytes(0);
    one.token = {from.integer(1)};
    one.kind = static_cast<lock_kind>(from.integer(2));
    one.mode = static_cast<hold_mode>(from.integer(3));
    one.permits = from.integer(4);
    one.node_info = from.bytes(5);
    if (!from.is_null(6)) one.metadata = from.bytes(6);
    one.ended_ago = std::chrono::microseconds{from.integer(7)};
    if (!from.is_null(8)) one.held_for = duration_of(from, 8);
    one.ending = static_cast<grant_ending>(from.integer(9));
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

void sql_history_store::define(connection& on, std::string_view name) const {
    on.execute(texts_.source(name));
}

bool sql_history_store::has_triggers(connection&) {
    return false;
}

bool sql_history_store::are_all_in(const result& found, const std::vector<std::string>& texts) {
    return std::ssize(found.rows) == triggers_there_are &&
           std::ranges::all_of(found.rows, [&](const row& each) {
               const std::string& body = each.bytes(1);
               return std::ranges::any_of(texts, [&](const std::string& text) {
                   return text.find(body) != std::string::npos;
               });
           });
}

void sql_history_store::drop_triggers(connection& on) {
    for (const char* each : {"drop_grant_trigger", "drop_share_trigger", "drop_replace_trigger"}) {
        define(on, each);
    }
}

void sql_history_store::make_triggers(connection& on) {
    for (const char* each : {"grant_trigger", "share_trigger", "replace_trigger"}) {
        define(on, each);
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
    const row found = read(on, "rule").rows.at(0);
    grant_history_status now;
    now.is_on = found.integer(0) != 0;
    now.keep = duration_of(found, 1);
    now.is_broken = now.is_on && !found.is_null(2) && found.integer(2) != triggers_there_are;
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
