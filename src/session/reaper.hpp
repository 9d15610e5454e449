#pragma once
// The clean-up itself, on a connection of the caller; sessions run it on their own.
#include <chrono>
#include <cstdint>

#include "database/database.hpp"
#include "leasehold/reaper.hpp"
#include "session/upkeep_store.hpp"

namespace leasehold {

// Does the whole clean-up, as reap() promises.
reap_report reap_on(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const reap_settings& settings
);

// Does a session's share of the clean-up: of the tasks that nobody has gone on with for `every`,
// those that have waited longest first, each for at most 20 steps or to the end of its table. If
// others do the work this is one plain read.
reap_report reap_in_turn(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const reap_settings& settings,
    std::chrono::microseconds every
);

// The event that tells of `rows` removed rows.
event reaped_rows(std::int64_t rows) noexcept;

// For people: the rows that a task looks at.
const char* name_of(upkeep_task task) noexcept;

}  // namespace leasehold
