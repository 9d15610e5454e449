#include "database/schema_check.hpp"

#include <algorithm>
#include <map>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::string label(const migration_step& step) {
    return "migration " + std::to_string(step.version) + " (" + step.name + ")";
}

std::string problem_of(
    const migration_step& step,
    const migration* known,
    const migration_record* record,
    int newest_known
) {
    if (!record) return "";
    if (!known && step.version > newest_known) {
        return label(step) + " is newer than this program knows (its newest is " +
               std::to_string(newest_known) +
               "): upgrade this program, or take the migration back with the newer one";
    }
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

void require_schema(connection& on, schema_store& schema) {
    const auto steps = compare(schema.known(), schema.recorded(on));
    const auto is_missing = [](const migration_step& step) {
        return !step.is_applied && !step.is_half_applied;
    };
    if (std::all_of(steps.begin(), steps.end(), is_missing)) {
        throw error(
            errc::schema_missing,
            "leasehold's tables are not in this database: run `leasehold migrate`, or check the "
            "table prefix and the schema"
        );
    }
    require_sound(steps);
    const auto missing = std::find_if(steps.begin(), steps.end(), is_missing);
    if (missing != steps.end()) {
        throw error(
            errc::schema_mismatch,
            "the schema is older than this program: " + label(*missing) +
                " is not applied; run `leasehold migrate`"
        );
    }
}

}  // namespace leasehold
