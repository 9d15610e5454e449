#pragma once
// The clean-up itself, on a connection the caller has; sessions run it on their own.
#include "leasehold/reaper.hpp"
#include "session/database.hpp"

namespace leasehold {

reap_report reap_on(
    database::implementation& within, connection& on, store& stores, const reap_settings& settings
);

}  // namespace leasehold
