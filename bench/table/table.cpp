#include "bench/table/table.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "bench/plot.hpp"
#include "bench/print.hpp"
#include "bench/report.hpp"

namespace leasehold::bench {
namespace {

using nlohmann::json;

struct backend {
    std::string name;
    std::string version;
    std::vector<report> reports{};
};

// Gives the sides the names that readers know, in place of those in a plan.
void rename(report& in) {
    for (side_report& each : in.sides) {
        if (each.name == "library") each.name = "by hand";
        if (each.name == "quiet") each.name = "leasehold, nobody tries";
        if (each.name == "connection") each.name = "by hand, by leasehold's connection";
    }
}

// The backends in the order of the file.
std::vector<backend> backends_in(const std::string& path) {
    std::ifstream file{path};
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<backend> all;
    for (std::string line; std::getline(file, line);) {
        const json object = json::parse(line);
        if (object.contains("version")) {
            all.push_back({object.at("backend"), object.at("version")});
        } else {
            all.back().reports.push_back(report_in(object));
            rename(all.back().reports.back());
        }
    }
    return all;
}

std::string spread_text(const spread& of) {
    return shown_number(of.median) + " (" + shown_number(of.min) + " to " + shown_number(of.max) +
           ")";
}

void print_row(const report& of, const side_report& side) {
    const bool is_first = &side == &of.sides.front();
    std::cout << "| " << (is_first ? of.what.what + ", " + of.what.shape() : "") << " | "
              << side.name << " | " << spread_text(side.rate) << " | "
              << (side.ratio.median > 0 ? spread_text(side.ratio) : "") << " | "
              << shown_time(side.took.p50) << "; " << shown_time(side.took.p99) << " | "
              << (side.latency_ratio > 0 ? shown_number(side.latency_ratio) : "") << " | "
              << counts_of(side) << " |\n";
}

constexpr const char* heading =
    "| what | by | per second: median (least to most) | the first one's rate beside it "
    "| p50; p99 | the first one's p50 beside it | one of them costs |\n"
    "|---|---|---|---|---|---|---|\n";

}  // namespace

void print_table(const page& what) {
    const std::string folder = std::filesystem::path{what.folder}.filename().string();
    std::filesystem::create_directories(what.folder);
    std::cout << "# Benchmarks\n\n"
              << what.about
              << "\n\n`bench/table/run` made this page; `bench/README.md` says what it measures. "
                 "Each workload and its\nhand-written counterpart ran in turns, five times or "
                 "more, and each turn gave one ratio. Only\nratios can be compared: rates and "
                 "times are those of one machine on one day.\n";
    for (const backend& each : backends_in(what.lines)) {
        std::cout << "\n## " << each.name << " " << each.version << "\n\n" << heading;
        for (const report& one : each.reports) {
            for (const side_report& side : one.sides) print_row(one, side);
        }
        std::ofstream{what.folder + "/" + each.name + ".svg"} << svg_of(plots_of(each.reports));
        std::cout << "\n![rates and latencies on " << each.name << "](" << folder << "/"
                  << each.name << ".svg)\n";
    }
}

}  // namespace leasehold::bench
