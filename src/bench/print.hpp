#pragma once
// Reports for people.
#include <string>

#include "bench/report.hpp"

namespace leasehold::bench {

// "842 us", "1.24 ms"
std::string shown_time(double microseconds);
// "1,250", "0.87"
std::string shown_number(double number);

// A heading, a line for each side, a line for each ratio; ends with a line feed.
std::string text_of(const report& of);

}  // namespace leasehold::bench
