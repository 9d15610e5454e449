#pragma once
// A duration as a number of seconds, exact and without more digits than it needs: 12.3, 0.000001.
#include <chrono>
#include <string>

namespace leasehold {

std::string seconds_text(std::chrono::nanoseconds time);

}  // namespace leasehold
