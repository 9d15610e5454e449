#include "cli/run/work_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"

namespace leasehold::cli {

nlohmann::json json_of(const worker_report& report) {
    auto left = nlohmann::json::array();
    for (const left_jobs& each : report.left) {
        left.push_back({{"queue", each.queue}, {"kind", each.kind}, {"jobs", each.jobs}});
    }
    return {
        {"completed", report.completed},
        {"failed", report.failed},
        {"returned", report.returned},
        {"discarded", report.discarded},
        {"cancelled", report.cancelled},
        {"lost", report.lost},
        {"unknown", report.unknown},
        {"rescued", report.rescued},
        {"abandoned", report.abandoned},
        {"left", left}};
}

std::string summary_of(const worker_report& report) {
    std::string text = std::to_string(report.completed) + " completed";
    const auto add = [&](std::int64_t count, const char* what) {
        if (count > 0) text += ", " + std::to_string(count) + " " + what;
    };
    add(report.failed, "failed");
    add(report.returned, "given back");
    add(report.cancelled, "cancelled");
    add(report.lost, "lost to others");
    add(report.unknown, "not known to have ended or not");
    add(report.rescued, "rescued");
    return text;
}

std::string shown_left(const std::vector<left_jobs>& left) {
    constexpr std::size_t max_shown = 5;
    std::string text;
    for (std::size_t at = 0; at < std::min(left.size(), max_shown); ++at) {
        text += "; left: " + std::to_string(left[at].jobs) + " of kind '" +
                printable(left[at].kind) + "' in queue '" + printable(left[at].queue) + "'";
    }
    if (left.size() > max_shown) {
        text += "; and of " + std::to_string(left.size() - max_shown) + " other kinds";
    }
    return text;
}

}  // namespace leasehold::cli
