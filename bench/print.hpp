#pragma once
// Reports for people.
#include <string>

#include "bench/report.hpp"

namespace leasehold::bench {

// "842 us", "1.24 ms"
std::string shown_time(double microseconds);
// "1,250", "0.87"
std::string shown_number(double number);

// The costs of one item: "2.00 statements, 1.00 commits"; empty where nothing was counted.
std::string counts_of(const side_report& of);

// The columns of all reports; ends with a line feed, as the reports do.
std::string text_heading();

// A title, two lines for each side, a line for each ratio.
std::string text_of(const report& of);

}  // namespace leasehold::bench
