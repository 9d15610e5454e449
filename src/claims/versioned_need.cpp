#include "claims/versioned_need.hpp"

#include <chrono>

#include "claims/value_check.hpp"
#include "core/known_value.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

void need_state(table_need& need, const versioned_mapping& mapping) {
    const state_column& state = mapping.state;
    if (state.column.empty()) return;
    need.columns.push_back(
        {.name = state.column,
         .role = "state",
         .may_be = {},
         .made_as = kind_of(state.from),
         .not_null_default = state.from,
         .is_changed = true,
         .needs_order = true,
         .stored = {state.from, state.to}}
    );
    column_need& added = need.columns.back();
    if (!state.done.is_null()) added.stored.push_back(state.done);
    added.told_apart = added.stored;
    need.equal.push_back(state.column);
}

// Adds the conditions, besides its state, on which a row may be claimed.
void need_available(
    table_need& need, const versioned_mapping& mapping, const std::vector<column_kind>& times
) {
    for (const condition& each : mapping.available) {
        const bool is_due = each.is == comparison::is_due;
        need.columns.push_back(
            {.name = each.column,
             .role = "condition",
             .may_be = is_due ? times : std::vector<column_kind>{}}
        );
        if (!each.than.is_null()) need.columns.back().compared = {each.than};
        need.columns.back().told_apart = told_apart_by(each);
        if (each.is == comparison::equal || each.is == comparison::is_null) {
            need.equal.push_back(each.column);
        }
    }
    if (mapping.state.column.empty() && is_claimable(mapping)) {
        need.equal.push_back(mapping.claimed_by.empty() ? mapping.expires_at : mapping.claimed_by);
    }
    if (!mapping.expires_at.empty()) {
        if (!mapping.state.column.empty()) need.late.push_back(mapping.state.column);
        need.late.push_back(mapping.expires_at);
        need.keeps_finished = !mapping.state.column.empty() && mapping.state.done.is_null();
    }
}

}  // namespace

bool is_claimable(const versioned_mapping& mapping) {
    return !mapping.state.column.empty() || !mapping.claimed_by.empty() ||
           !mapping.expires_at.empty();
}

void refuse(const versioned_mapping& mapping, const std::string& why) {
    throw error(errc::invalid_argument, "the mapping of table " + mapping.table.name + ": " + why);
}

versioned_mapping checked(versioned_mapping mapping) {
    require_table(mapping.table, mapping.key);
    require_name(mapping.version, "version");
    require_conditions(mapping.available);
    require_known(mapping.times, time_kind::microseconds, "time_kind");
    const state_column& state = mapping.state;
    if (!state.column.empty() && (state.from.is_null() || state.to.is_null())) {
        refuse(mapping, "a state needs the value it is claimed from and the one it goes to");
    }
    if (!state.column.empty() && state.from == state.to) {
        refuse(mapping, "a claim would leave the state as it is");
    }
    if (!state.column.empty() && (state.done == state.from || state.done == state.to)) {
        refuse(mapping, "done must be another state than from and to; null leaves it at to");
    }
    if (mapping.expires_at.empty() == mapping.term.has_value()) {
        refuse(mapping, "expires_at and term go together");
    }
    if (mapping.term && (*mapping.term < milliseconds{1} || *mapping.term > hours{366 * 24})) {
        refuse(mapping, "term must be 1 ms to 366 days");
    }
    if (mapping.claimed_by.empty() && !mapping.claimant.empty()) {
        refuse(mapping, "a claimant needs the column claimed_by");
    }
    if (mapping.claimant.ends_with(' ')) {
        refuse(mapping, "a claimant that ends in a blank may come back without it");
    }
    if (mapping.busy_timeout < milliseconds{0} || mapping.busy_timeout > hours{1}) {
        refuse(mapping, "busy_timeout must be 0 to 1 h");
    }
    return mapping;
}

table_need need_of(const versioned_mapping& mapping, engine which) {
    table_need need;
    need.table = mapping.table;
    need.key = mapping.key;
    need.order = mapping.order;
    need.without_index = "sorts, and may read, the whole table each time";
    const auto add = [&](const std::string& name, const char* role) {
        need.columns.push_back({.name = name, .role = role});
    };
    for (const std::string& each : mapping.key) add(each, "key");
    need.columns.push_back(
        {.name = mapping.version,
         .role = "version",
         .may_be = {column_kind::integer},
         .made_as = column_kind::integer,
         .not_null_default = value{0},
         .null_is_trouble = true,
         .is_changed = true,
         .counts_up = true}
    );
    need_state(need, mapping);
    const std::vector<column_kind> times = kinds_of(mapping.times, which);
    const auto add_time = [&](const std::string& name,
                              std::optional<std::chrono::microseconds> term) {
        if (name.empty()) return;
        need.columns.push_back(
            {.name = name,
             .role = "time",
             .may_be = times,
             .made_as = times.front(),
             .is_changed = true,
             .is_emptied = true,
             .is_read = term.has_value(),
             .term = term}
        );
    };
    add_time(mapping.claimed_at, {});
    add_time(mapping.expires_at, mapping.term);
    if (!mapping.claimed_by.empty()) {
        need.columns.push_back(
            {.name = mapping.claimed_by,
             .role = "claimed by",
             .may_be = {column_kind::text},
             .made_as = column_kind::text,
             .is_changed = true,
             .is_emptied = true,
             .stored = {mapping.claimant.empty() ? std::string(tag_size, '0') : mapping.claimant}}
        );
    }
    need.has_no_claimant = is_claimable(mapping) && mapping.claimed_by.empty();
    need_available(need, mapping, times);
    if (mapping.order.empty()) need.equal.clear();  // single rows are claimed, by their keys
    for (const order_by& each : mapping.order) {
        need.columns.push_back({.name = each.column, .role = "order", .needs_order = true});
    }
    for (const std::string& each : mapping.columns) add(each, "column");
    return need;
}

}  // namespace leasehold
