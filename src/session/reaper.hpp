#pragma once
// The clean-up itself, on a connection the caller has; sessions run it on their own.
#include <chrono>
#include <cstdint>

#include "database/database.hpp"
#include "leasehold/reaper.hpp"
#include "store/schema_store.hpp"

namespace leasehold {

// All of it, as reap() promises.
reap_report reap_on(
    database::implementation& within, connection& on, store& stores, const reap_settings& settings
);

// A session's share of it: of the tasks that nobody has gone on with for `every`, those that have
// waited longest first, each for at most 20 steps or to the end of its table. Where others do the
// work this is one plain read.
reap_report take_turns_at_reaping(
    database::implementation& within,
    connection& on,
    store& stores,
    const reap_settings& settings,
    std::chrono::microseconds every
);

// What is told of so many.
event reaped_rows(std::int64_t rows) noexcept;

// For people: which rows a task looks at.
const char* name_of(upkeep_task task) noexcept;

}  // namespace leasehold
