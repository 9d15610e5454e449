#pragma once
// The doctor's findings, by their names.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/doctor.hpp"

namespace leasehold::testing {

inline std::optional<finding> find(const std::vector<finding>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const finding& each) {
        return each.name == name;
    });
    return found == all.end() ? std::nullopt : std::optional{*found};
}

// The doctor's finding of that name about this database.
inline std::optional<finding> examined(const database& db, std::string_view name) {
    return find(diagnose(db), name);
}

// All of them, for failures.
inline std::string names_of(const std::vector<finding>& all) {
    std::string text;
    for (const finding& each : all) text += each.name + ": " + each.what + "\n";
    return text;
}

}  // namespace leasehold::testing
