#include "admin/sql_health_store.hpp"

#include <algorithm>

#include "session/sql_session_store.hpp"

namespace leasehold {
namespace {

using std::chrono::microseconds;

std::string trimmed(std::string_view text) {
    constexpr std::string_view spaces = " \n\t\r";
    const auto first = text.find_first_not_of(spaces);
    if (first == std::string_view::npos) return "";
    return std::string{text.substr(first, text.find_last_not_of(spaces) - first + 1)};
}

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    while (true) {
        const auto end = text.find(at);
        parts.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::string joined_by_comma(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& each : words) all += (all.empty() ? "" : ", ") + each;
    return all;
}

}  // namespace

void sql_health_store::add_connections(
    std::vector<finding>& found,
    std::int64_t used,
    std::int64_t all,
    const diagnosis_settings& settings,
    const std::string& whose,
    const std::string& limit
) {
    constexpr std::int64_t percent = 100;
    if (used * percent < all * settings.connections_percent) return;
    found.push_back(
        {severity::warning,
         "connections",
         std::to_string(used) + " of " + std::to_string(all) + " connections" +
             (whose.empty() ? "" : " of " + whose) + " are in use",
         "when there are none left, heartbeats that have to connect anew fail",
         "raise " + limit + ", put a pooler in front, or lower max_connections of programs"}
    );
}

void sql_health_store::add_transport(
    std::vector<finding>& found, transport how, const std::string& remedy
) {
    if (how == transport::clear) {
        found.push_back(
            {severity::warning,
             "clear_text",
             "this connection goes over a network and is not encrypted",
             "whoever is on the way reads passwords, keys and jobs, and can change them",
             remedy + "; docs/guides/tls.md"}
        );
    }
    if (how == transport::unverified) {
        found.push_back(
            {severity::warning,
             "unverified_server",
             "this connection is encrypted, but whoever answered was taken for the server",
             "whoever can answer at that address gets what is meant for the server, and can grant "
             "one key twice",
             remedy + "; docs/guides/tls.md"}
        );
    }
}

microseconds sql_health_store::clock(connection& on) {
    return microseconds{only_integer(read(on, "clock"))};
}

std::vector<std::string> sql_health_store::shape(connection& on) {
    auto lines = only_texts(how_->read(on, shapes_["shape"], {how_->names().prefix}));
    std::ranges::sort(lines);
    return lines;
}

std::vector<std::string> sql_health_store::known_shape() const {
    std::vector<std::string> lines = split(shapes_.source("known_shape"), '\n');
    std::erase(lines, "");
    std::ranges::sort(lines);
    return lines;
}

// `CREATE [UNIQUE ]INDEX name ON table (columns)[ WHERE …];`, one after another.
std::vector<index_maker> sql_health_store::known_indexes() const {
    std::vector<index_maker> all;
    for (std::string each : split(shapes_.source("known_indexes"), ';')) {
        constexpr std::string_view begin = "INDEX ", on = " ON ";
        if (each.empty()) continue;
        std::ranges::replace(each, '\n', ' ');
        const auto name = each.find(begin) + begin.size(), middle = each.find(on, name);
        const auto columns = each.find(" (", middle), end = each.find(')', columns) + 1;
        const bool is_unique = each.find(" UNIQUE ") < name;
        const bool is_partial = each.find(" WHERE ", end) != std::string::npos;
        // Names of tables, and SQLite's of indexes, have that of their schema before them.
        const auto bare = [&](std::size_t first, std::size_t last) {
            const std::string whole = each.substr(first, last - first);
            return whole.substr(whole.rfind('.') + 1);
        };
        const std::size_t prefix = how_->names().prefix.size();
        const std::string table = bare(middle + on.size(), columns).substr(prefix);
        all.push_back(
            {table + (is_unique ? " unique index" : " index") +
                 each.substr(columns, end - columns) + (is_partial ? " partial" : ""),
             bare(name, middle),
             each}
        );
    }
    return all;
}

std::vector<needed_rights> sql_health_store::granted() const {
    std::vector<needed_rights> all;
    for (std::string one : split(how_->of(admin_sql, "migration").source("grants"), ';')) {
        constexpr std::string_view begin = "GRANT ", on = " ON ", to = " TO ";
        if (!one.starts_with(begin)) continue;
        std::ranges::replace(one, '\n', ' ');
        const auto tables = one.find(on), user = one.find(to);
        const std::string_view text = one;
        const auto verbs = split(text.substr(begin.size(), tables - begin.size()), ',');
        const auto first = tables + on.size();
        for (const auto& table : split(text.substr(first, user - first), ',')) {
            all.push_back({table, verbs});
        }
    }
    return all;
}

std::vector<std::string> sql_health_store::missing_rights(connection& on) {
    std::vector<std::string> all;
    for (const needed_rights& each : needed()) {
        std::vector<std::string> missing;
        for (const std::string& verb : each.verbs) {
            if (!has_right(on, each.table, verb)) missing.push_back(verb);
        }
        if (!missing.empty()) all.push_back(joined_by_comma(missing) + " ON " + each.table);
    }
    return all;
}

session_counts sql_health_store::count_sessions(connection& on) {
    constexpr double beats_per_ttl = 3, microseconds_per_second = 1e6;
    using column = columns::health::sessions;
    const row found = read(on, "sessions").rows.at(0);
    session_counts counts;
    counts.live = found.integer(column::live);
    counts.overdue = found.integer(column::overdue);
    // A sum of parts of a million, so that it stays a whole number.
    const auto load = static_cast<double>(found.integer(column::beats_in_millionths));
    counts.heartbeats_per_second = load * beats_per_ttl / microseconds_per_second;
    if (counts.overdue > 0) counts.example = only_text(read(on, "overdue"));
    return counts;
}

std::vector<long_hold> sql_health_store::held_long(
    connection& on, const char* question, const char* count, microseconds longer_than, int limit
) const {
    std::vector<long_hold> all;
    const result found = read(on, question, {value_of(longer_than), std::int64_t{limit}});
    auto keys = static_cast<std::int64_t>(found.rows.size());
    if (keys == limit) keys = only_integer(read(on, count, {value_of(longer_than)}));
    for (const row& each : found.rows) {
        using column = columns::health::long_holds;
        const microseconds held_for{each.integer(column::held_for)};
        all.push_back({each.bytes(column::key), each.bytes(column::node_info), held_for, keys});
    }
    return all;
}

std::vector<long_hold> sql_health_store::long_holds(
    connection& on, microseconds longer_than, int limit
) {
    return held_long(on, "long_holds", "count_long_holds", longer_than, limit);
}

std::vector<long_hold> sql_health_store::long_shares(
    connection& on, microseconds longer_than, int limit
) {
    return held_long(on, "long_shares", "count_long_shares", longer_than, limit);
}

std::int64_t sql_health_store::dead_holds(connection& on, microseconds longer_than) {
    return only_integer(read(on, "dead_holds", {value_of(longer_than)}));
}

std::int64_t sql_health_store::dead_shares(connection& on, microseconds longer_than) {
    return only_integer(read(on, "dead_shares", {value_of(longer_than)}));
}

std::optional<session_info> sql_health_store::session_of(connection& on, const session_id& id) {
    const result found = read(on, "session", {value_of(id)});
    if (found.rows.empty()) return std::nullopt;
    return session_in(found.rows[0]);
}

std::optional<microseconds> sql_health_store::closed_for(connection& on, const key& name) {
    return only_integer_if_any<microseconds>(read(on, "closed", {value_of(name)}));
}

std::vector<waiting_queue> sql_health_store::waiting_queues(
    connection& on, microseconds longer_than
) {
    std::vector<waiting_queue> all;
    for (const row& each : read(on, "waiting_queues", {value_of(longer_than)}).rows) {
        using column = columns::health::waiting_queues;
        const microseconds waits{each.integer(column::waits)};
        all.push_back({each.bytes(column::queue), waits, each.integer(column::is_paused) != 0});
    }
    return all;
}

std::optional<microseconds> sql_health_store::usual_time(connection& on, const std::string& queue) {
    const row found = read(on, "usual_time", {queue}).rows.at(0);
    if (found.is_null(only_column)) return std::nullopt;
    return microseconds{found.integer(only_column)};
}

std::vector<discarded_jobs> sql_health_store::discarded(
    connection& on, microseconds within, std::int64_t at_most
) {
    std::vector<discarded_jobs> all;
    for (const row& each : read(on, "discarded", {value_of(within), at_most}).rows) {
        using column = columns::health::discarded;
        all.push_back({each.bytes(column::queue), std::min(each.integer(column::jobs), at_most)});
    }
    return all;
}

std::int64_t sql_health_store::discarded_of(
    connection& on, const std::string& queue, microseconds within, std::int64_t at_most
) {
    return only_integer(read(on, "discarded_of", {queue, value_of(within), at_most}));
}

}  // namespace leasehold
