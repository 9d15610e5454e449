#pragma once
// `leasehold once --dry-run`: tells the result that a call would have now, and changes nothing.
#include <string>

#include "leasehold/database.hpp"
#include "leasehold/key.hpp"
#include "leasehold/once.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold::cli {

struct planned_call {
    const key& name;
    const schedule& when;
    const once_settings& settings;
    int busy_status;
    bool is_json;
    bool is_quiet;
};

// Writes on standard output, unless it is to be quiet. The answer is the status, 0 if the task
// would run.
int say_forecast(const database& db, const planned_call& wanted);

// "was started for … by … 3m ago and succeeded after 12s"
std::string story_of(const run_info& last);

}  // namespace leasehold::cli
