#include "soak/finding.hpp"

#include <algorithm>
#include <iterator>

namespace leasehold::soak {
namespace {

constexpr std::string_view void_prefix = "void: ";

}  // namespace

bool is_void(const findings& all) {
    return !all.empty() && std::all_of(all.begin(), all.end(), [](const finding& each) {
        return each.text.starts_with(void_prefix);
    });
}

// A run that proves nothing, rather than a violation.
finding nothing_shown(const char* check, std::string_view why) {
    return {check, std::string(void_prefix).append(why)};
}

std::string in_ms(std::int64_t ns) {
    return std::to_string(ns / 1'000'000) + " ms";
}

std::string label(int process, std::int64_t id) {
    return "process " + std::to_string(process) + " #" + std::to_string(id);
}

std::string label(const holding& grant) {
    return label(grant.process, grant.id) + " (token " + std::to_string(grant.token) + ")";
}

std::string label(const step& what) {
    return label(what.process, what.id) + " (token " + std::to_string(what.token) + ")";
}

void report(findings& into, const char* check, int key, const std::string& text) {
    into.push_back({check, "key " + std::to_string(key) + ": " + text});
}

high_water::high_water(std::vector<numbered_moment> moments) : moments_(std::move(moments)) {
    std::sort(moments_.begin(), moments_.end(), [](const auto& one, const auto& other) {
        return one.at_ns < other.at_ns;
    });
    std::int64_t greatest = 0;
    for (auto& each : moments_) each.token = greatest = std::max(greatest, each.token);
}

std::int64_t high_water::before(std::int64_t at_ns) const {
    const auto next = std::lower_bound(
        moments_.begin(),
        moments_.end(),
        at_ns,
        [](const numbered_moment& each, std::int64_t when) { return each.at_ns < when; }
    );
    return next == moments_.begin() ? 0 : std::prev(next)->token;
}

}  // namespace leasehold::soak
