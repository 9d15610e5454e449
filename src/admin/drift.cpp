#include "admin/drift.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using lines = std::vector<std::string>;  // "table column …", as the store says them, sorted

std::string table_of(const std::string& line) {
    return line.substr(0, line.find(' '));
}

// Takes out the tables that the server hides, which are not missing, and answers with them.
lines take_hidden(connection& on, health_store& health, lines& missing) {
    std::map<std::string, bool> is_hidden;
    for (const std::string& line : missing) {
        const auto [at, is_new] = is_hidden.try_emplace(table_of(line), false);
        if (is_new) at->second = health.is_hidden(on, at->first);
    }
    std::erase_if(missing, [&](const std::string& line) { return is_hidden.at(table_of(line)); });
    lines hidden;
    for (const auto& [table, is_it] : is_hidden) {
        if (is_it) hidden.push_back(table);
    }
    return hidden;
}

// Indexes and functions have remedies of their own, so this takes them out.
void take_made(
    std::vector<finding>& found,
    lines& missing,
    lines& more,
    const lines& there,
    const health_store& health
) {
    for (const index_maker& each : health.known_indexes()) {
        if (std::erase(missing, each.line) == 0) continue;
        // A CREATE INDEX CONCURRENTLY that has failed leaves an invalid index.
        const bool is_there = std::ranges::count(there, each.line + " invalid") > 0;
        found.push_back(
            {severity::error,
             "schema_drift",
             "index " + each.name + " is " + (is_there ? "not complete" : "missing"),
             "statements that look for some rows read the whole table, and lock what they read",
             (is_there ? "drop it, and run " : "") + each.statement}
        );
    }
    std::erase_if(missing, [&](const std::string& line) {
        const auto end = line.find(" function (");
        if (end == std::string::npos) return false;
        const std::string name = line.substr(0, end), plain = line.substr(0, line.rfind(')') + 1);
        if (std::erase(more, plain) > 0) {
            found.push_back(
                {severity::error,
                 "schema_drift",
                 "the function of this name has lost its search_path: " + plain,
                 "a caller's temporary table of the same name is read in place of leasehold's",
                 "run the last DO $pin$ of `leasehold migrate sql` that names " + name}
            );
            return true;
        }
        found.push_back(
            {severity::error,
             "schema_drift",
             "the function of this name is missing, or takes other values: " + plain,
             name == "enqueue" ? "triggers and programs in other languages can enqueue no job"
                               : "programs in other languages can prove no lock and no job",
             "run the last statement of `leasehold migrate sql` that makes " + name +
                 ", and the DO $pin$ behind it"}
        );
        return true;
    });
}

void add_lines(
    std::vector<finding>& found,
    const lines& all,
    severity weight,
    const std::string& how,
    const char* why
) {
    constexpr std::size_t max_told = 20;
    for (std::size_t at = 0; at < std::min(all.size(), max_told); ++at) {
        const bool is_last = at + 1 == max_told && all.size() > max_told;
        std::string what = how;
        what += all[at];
        if (is_last) what += "; and " + std::to_string(all.size() - max_told) + " more";
        found.push_back(
            {weight,
             "schema_drift",
             std::move(what),
             why,
             "compare with schema/ of this version, and change it back by hand"}
        );
    }
}

}  // namespace

std::vector<finding> find_drift(connection& on, health_store& health, const table_names& names) {
    const lines known = health.known_shape(), there = health.shape(on);
    lines missing, more;
    std::ranges::set_difference(known, there, std::back_inserter(missing));
    std::ranges::set_difference(there, known, std::back_inserter(more));
    std::erase_if(more, [&](const std::string& line) {
        return std::ranges::none_of(known, [&](const std::string& each) {
            return table_of(each) == table_of(line);
        });
    });
    std::vector<finding> found;
    std::string hidden;
    for (const std::string& table : take_hidden(on, health, missing)) {
        hidden += (hidden.empty() ? "" : ", ") + names.prefix + table;
    }
    if (!hidden.empty()) {
        found.push_back(not_looked_at(
            "the columns of " + hidden,
            error(errc::permission_denied, "who may not read a table is not shown them")
        ));
    }
    take_made(found, missing, more, there, health);
    add_lines(
        found,
        missing,
        severity::error,
        "this is missing, or is another: " + names.prefix,
        "statements fail, or read whole tables where an index is gone; a column that compares in "
        "another way lets two spellings be one key"
    );
    add_lines(
        found,
        more,
        severity::warning,
        "this is no work of a migration: " + names.prefix,
        "a rule may refuse what programs write; an index makes each heartbeat or job cost more"
    );
    return found;
}

}  // namespace leasehold
