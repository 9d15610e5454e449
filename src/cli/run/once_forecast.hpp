#pragma once
// `leasehold once --dry-run`: tells the result that a call would have now, and changes nothing.
#include <string>

#include "cli/run/errand.hpp"
#include "leasehold/database.hpp"
#include "leasehold/once.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold::cli {

// What a call of `once` asks for.
struct planned_call {
    errand what;
    schedule when;
    once_settings settings;
};

// Writes on standard output, unless it is to be quiet. The answer is the status, 0 if the task
// would run.
int say_forecast(const database& db, const planned_call& wanted);

// "was started for … by … 3m ago and succeeded after 12s"
std::string story_of(const run_info& last);

}  // namespace leasehold::cli
