#include "upkeep/place.hpp"

namespace leasehold::testing {
namespace {

std::string text_of(const value& given) {
    const auto& held = given.held();
    if (const auto* number = std::get_if<std::int64_t>(&held)) return std::to_string(*number);
    if (const auto* real = std::get_if<double>(&held)) return std::to_string(*real);
    if (const auto* text = std::get_if<std::string>(&held)) return *text;
    if (const auto* bytes = std::get_if<blob>(&held)) return bytes->bytes;
    return "null";
}

}  // namespace

std::vector<std::string> lines_of(connection& on, const std::string& sql) {
    std::vector<std::string> lines;
    for (const row& each : on.execute(sql).rows) {
        std::string line;
        for (const value& column : each.columns) {
            if (!line.empty()) line += " | ";
            line += text_of(column);
        }
        lines.push_back(line);
    }
    return lines;
}

}  // namespace leasehold::testing
