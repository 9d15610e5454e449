#pragma once
// What the doctor says of queues whose jobs nobody takes.
#include <vector>

#include "leasehold/doctor.hpp"
#include "store/health_store.hpp"

namespace leasehold {

// Of many some are named, by name, and the last of each kind says how many more there are.
std::vector<finding> findings_of(const std::vector<waiting_queue>& queues);

}  // namespace leasehold
