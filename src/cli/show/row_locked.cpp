#include "cli/show/row_locked.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/output.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::cli {
namespace {

std::string who(const row_lock_info& by) {
    if (by.connection == 0 && by.way_to_end.empty()) {
        return "one that the server does not name to this user";
    }
    std::string name = "a prepared transaction";
    if (by.connection != 0) {
        name = by.locks_all_keys ? "process " : "connection ";
        name += std::to_string(by.connection);
    }
    if (!by.user.empty()) name += " of user " + by.user;
    if (!by.host.empty()) name += " at " + by.host;
    if (!by.application.empty()) name += " (" + by.application + ")";
    if (by.open_for) name += ", open for " + shown(*by.open_for);
    if (!by.state.empty()) name += ", state: " + by.state;
    if (by.may_be_others) name += "; or others, which began later";
    return name;
}

}  // namespace

row_lock with_lock_of(const database& db, row_lock_info by) {
    row_lock found{std::move(by), {}};
    if (auto seen = describe(db, key{found.by.key})) found.lock = *std::move(seen);
    found.lock.key = found.by.key;
    return found;
}

std::optional<row_lock> find_lock_of_row(const database& db, const key& name) {
    try {
        auto by = find_row_lock(db, name);
        if (by) return with_lock_of(db, *std::move(by));
    } catch (const error&) {  // NOLINT(bugprone-empty-catch)
        // The caller reports a failure already, and this would only add to it.
    }
    return std::nullopt;
}

std::string told(const row_lock& found) {
    const row_lock_info& by = found.by;
    std::string text;
    if (found.lock.is_held) {
        text = "it is held by " + found.lock.node_info + ", and ";
    } else if (!found.lock.node_info.empty()) {
        text = "the lease of " + found.lock.node_info + " has ended, but ";
    }
    text += by.locks_all_keys ? "an open transaction has the whole database locked: "
                              : "an open transaction holds the row of key '" + by.key + "': ";
    text += who(by) + "; until it ends nobody can be granted the key";
    if (!by.missing_right.empty()) {
        text += "; to be told more of it, this user needs " + by.missing_right;
    }
    if (!by.way_to_end.empty()) text += "; to end it: " + by.way_to_end;
    return text;
}

nlohmann::json fields_of(const row_lock_info& by) {
    const auto or_null = [](const std::string& text) {
        return text.empty() ? nlohmann::json() : nlohmann::json(text);
    };
    return {
        {"connection", by.connection != 0 ? nlohmann::json(by.connection) : nlohmann::json()},
        {"user", or_null(by.user)},
        {"host", or_null(by.host)},
        {"application", or_null(by.application)},
        {"state", or_null(by.state)},
        {"statement", or_null(by.statement)},
        {"open_seconds", by.open_for ? nlohmann::json(seconds_of(*by.open_for)) : nlohmann::json()},
        {"may_be_others", by.may_be_others},
        {"locks_all_keys", by.locks_all_keys},
        {"missing_right", or_null(by.missing_right)},
        {"way_to_end", or_null(by.way_to_end)},
    };
}

failure row_locked(const row_lock& found, const std::string& what) {
    return failure{exit_status::not_acquired, name_of(errc::busy), what + ": " + told(found)}.with(
        {{"key", found.by.key}, {"row_lock", fields_of(found.by)}}
    );
}

failure explained(const error& failed, const database& db, const key& name) {
    const bool may_have_waited =
        failed.code() == errc::transient || failed.code() == errc::timed_out;
    if (may_have_waited) {
        if (const auto found = find_lock_of_row(db, name)) {
            return row_locked(*found, "'" + name.name() + "' is not free");
        }
    }
    return failure_of(failed);
}

}  // namespace leasehold::cli
