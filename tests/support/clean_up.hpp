#pragma once
// One task of the clean-up, from the beginning of its table to the end, by the store alone.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "database/schema_store.hpp"
#include "leasehold/key.hpp"
#include "session/upkeep_store.hpp"
#include "sql/store_set.hpp"

namespace leasehold::testing {

inline upkeep_progress progress_of(connection& on, store_set& stores, upkeep_task task) {
    for (upkeep_progress& each : stores.get<upkeep_store>().progress(on)) {
        if (each.task == task) return each;
    }
    return {};
}

// Takes the turn from whoever had it; returns the state that comes out of it.
inline upkeep_progress seize_turn(connection& on, store_set& stores, upkeep_task task) {
    while (true) {
        upkeep_progress at = progress_of(on, stores, task);
        if (!stores.get<upkeep_store>().begin_turn(on, at, std::chrono::microseconds{0})) continue;
        ++at.turn;
        ++at.unfinished;
        return at;
    }
}

// A whole pass; nothing is served. Answers with how many rows were cleared.
inline std::int64_t clean_up(
    connection& on,
    store_set& stores,
    upkeep_task task,
    std::chrono::microseconds retention = std::chrono::microseconds{0},
    int rows = 100
) {
    std::int64_t sum = 0;
    upkeep_progress at = seize_turn(on, stores, task);
    for (std::int64_t ends = at.place.empty() ? 1 : 2; ends > 0;) {
        const upkeep_look seen =
            stores.get<upkeep_store>().look(on, task, at.place, rows, retention);
        std::vector<std::string> places;
        for (const upkeep_finding& each : seen.found) places.push_back(each.place);
        std::int64_t cleared = 0;
        if (!places.empty())
            cleared = stores.get<upkeep_store>().clear(on, task, places, retention);
        sum += cleared;
        const bool leaves = cleared < static_cast<std::int64_t>(places.size());
        if (!stores.get<upkeep_store>().advance(on, at, seen, leaves)) {
            at = seize_turn(on, stores, task);
            continue;
        }
        at.place = seen.place;
        if (at.place.empty()) --ends;
    }
    return sum;
}

// Keys that nobody holds, or only the dead, and that have a mark: somebody may wait for them.
inline std::vector<key> unserved_keys(connection& on, store_set& stores) {
    std::vector<key> found;
    std::string place;
    do {
        const upkeep_look seen = stores.get<upkeep_store>().look(
            on, upkeep_task::dead_locks, place, 1000, std::chrono::microseconds{0}
        );
        for (const upkeep_finding& each : seen.found) {
            if (each.is_queued) found.emplace_back(each.place);
        }
        place = seen.place;
    } while (!place.empty());
    return found;
}

}  // namespace leasehold::testing
