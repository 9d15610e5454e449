#pragma once
// The expectations of the tests of checkers.
#include <gtest/gtest.h>

#include <string>

#include "soak/finding.hpp"

namespace leasehold::soak {

constexpr std::int64_t ms = 1'000'000;

inline std::string texts(const findings& found) {
    std::string all;
    for (const auto& each : found) all += each.check + " " + each.text + "\n";
    return all;
}

inline ::testing::AssertionResult holds(const findings& found) {
    if (found.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << texts(found);
}

inline ::testing::AssertionResult reports(const findings& found, const std::string& part) {
    if (texts(found).find(part) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "not reported: " << part << "\n" << texts(found);
}

}  // namespace leasehold::soak
