#include "database/schema_check.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/number_in.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::string label(const migration_step& step) {
    return "migration " + std::to_string(step.version) + " (" + step.name + ")";
}

std::string newer_than(const migration_step& step, int newest_known) {
    return label(step) + " is newer than this program knows (its newest is " +
           std::to_string(newest_known) + ")";
}

constexpr const char* unfinished_newer =
    " and was begun and not finished: run `leasehold migrate up` of the newer program";

// The number in the name of a migration: 6 if it ends with _from_6. A newer program records a
// migration by its name, so that older ones, which know neither its file nor later records, can
// read it.
std::optional<int> oldest_that_may_go_on(std::string_view name) {
    constexpr std::string_view mark = "_from_";
    const auto at = name.rfind(mark);
    if (at == std::string_view::npos) return std::nullopt;
    const auto version = number_in<int>(name.substr(at + mark.size()));
    if (version && *version < 1) return std::nullopt;
    return version;
}

// Holds for a half-applied migration, too: each of its statements must let older programs go on.
std::string problem_of_newer(const migration_step& step, int newest_known) {
    const auto oldest = oldest_that_may_go_on(step.name);
    if (oldest && *oldest <= newest_known) return "";
    if (step.is_half_applied) return newer_than(step, newest_known) + unfinished_newer;
    return newer_than(step, newest_known) +
           (oldest ? " and needs one that knows " + std::to_string(*oldest) : "") +
           ": upgrade this program, or take the migration back with the newer one";
}

std::string problem_of(
    const migration_step& step,
    const migration* known,
    const migration_record* record,
    int newest_known
) {
    if (!record) return "";
    if (step.is_newer) return problem_of_newer(step, newest_known);
    if (!known) {
        return label(step) +
               " was applied but this program has no such file: a released migration was removed; "
               "build the program from a complete source";
    }
    if (record->checksum != known->checksum || record->name != known->name) {
        return label(step) +
               " differs from the one that was applied: a released migration was edited; restore "
               "the file and put the change into a new migration";
    }
    if (!record->is_finished) {
        return label(step) +
               " was begun and not finished: see that no other migration is running, then run "
               "`leasehold migrate up --resume`; each of its statements can be repeated";
    }
    return "";
}

}  // namespace

std::vector<migration_step> compare(
    std::span<const migration> known, const std::optional<std::vector<migration_record>>& records
) {
    std::map<int, std::pair<const migration*, const migration_record*>> by_version;
    for (const migration& each : known) by_version[each.version].first = &each;
    if (records) {
        for (const migration_record& each : *records) by_version[each.version].second = &each;
    }
    const int newest_known = known.empty() ? 0 : known.back().version;
    std::vector<migration_step> steps;
    for (const auto& [version, found] : by_version) {
        const auto& [file, record] = found;
        migration_step step;
        step.version = version;
        step.name = file ? file->name : record->name;
        step.checksum = file ? file->checksum : record->checksum;
        step.is_applied = record && record->is_finished;
        step.is_half_applied = record && !record->is_finished;
        step.is_newer = !file && version > newest_known;
        step.problem = problem_of(step, file, record, newest_known);
        steps.push_back(std::move(step));
    }
    return steps;
}

void require_sound(const std::vector<migration_step>& steps) {
    for (const migration_step& step : steps) {
        if (!step.problem.empty()) throw error(errc::schema_mismatch, step.problem);
    }
}

void require_finished(const std::vector<migration_step>& steps) {
    for (const migration_step& step : steps) {
        if (!step.is_newer || !step.is_half_applied) continue;
        throw error(
            errc::schema_mismatch,
            label(step) + " is newer than this program knows" + unfinished_newer
        );
    }
}

std::string describe_newer(const std::vector<migration_step>& steps) {
    std::string names;
    for (const migration_step& step : steps) {
        if (step.is_newer && step.problem.empty()) {
            names += (names.empty() ? "" : ", ") + label(step);
        }
    }
    if (names.empty()) return "";
    return "the schema is newer than this program: " + names +
           "; by its name this program may go on: upgrade it when you can";
}

std::string require_schema(connection& on, schema_store& schema) {
    const auto steps = compare(schema.known(), schema.recorded(on));
    const auto is_missing = [](const migration_step& step) {
        return !step.is_applied && !step.is_half_applied;
    };
    if (std::ranges::all_of(steps, is_missing)) {
        throw error(
            errc::schema_missing,
            "leasehold's tables are not in this database: run `leasehold migrate`, or check the "
            "table prefix and the schema"
        );
    }
    require_sound(steps);
    const auto missing = std::ranges::find_if(steps, is_missing);
    if (missing != steps.end()) {
        throw error(
            errc::schema_mismatch,
            "the schema is older than this program: " + label(*missing) +
                " is not applied; run `leasehold migrate`"
        );
    }
    return describe_newer(steps);
}

}  // namespace leasehold
