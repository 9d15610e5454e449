#pragma once
// The clean-up itself, on a connection the caller has; sessions run it on their own.
#include "leasehold/reaper.hpp"
#include "store/upkeep_store.hpp"

namespace leasehold {

reap_report reap_on(connection& on, upkeep_store& upkeep, const reap_settings& settings);

}  // namespace leasehold
