#pragma once
// A violation in one line, and what all checks need to find one.
//
// Threads: plain values, pure functions.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "soak/facts.hpp"

namespace leasehold::soak {

struct finding {
    std::string check;  // "C1" …
    std::string text;
};
using findings = std::vector<finding>;

// Nothing is wrong, but what should have been put to the test did not come about.
bool is_void(const findings& all);
finding nothing_shown(const char* check, std::string_view why);

std::string in_ms(std::int64_t ns);
std::string label(int process, std::int64_t id);
std::string label(const holding& grant);
std::string label(const step& what);
void report(findings& into, const char* check, int key, const std::string& text);

struct numbered_moment {
    std::int64_t at_ns;
    std::int64_t token;
};

// The greatest token that was out at an instant, among moments added in any order.
class high_water {
public:
    explicit high_water(std::vector<numbered_moment> moments);

    // Strictly before; 0 where there was none.
    std::int64_t before(std::int64_t at_ns) const;

private:
    std::vector<numbered_moment> moments_;
};

}  // namespace leasehold::soak
