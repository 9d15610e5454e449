#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/plot.hpp"
#include "bench/print.hpp"
#include "bench/table/table.hpp"

namespace leasehold::bench {
namespace {

struct times {
    double p50, p99;  // microseconds
};

// The figures of one engine.
struct grown {
    std::string engine;
    std::vector<std::string> operations{};                  // in the order of the file
    std::map<std::string, std::map<double, times>> took{};  // by operation, by lock rows
};

std::vector<grown> engines_in(const std::string& path) {
    std::ifstream file{path};
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<grown> all;
    for (std::string line; std::getline(file, line);) {
        const auto object = nlohmann::json::parse(line);
        const std::string engine = object.at("engine"), what = object.at("operation");
        if (all.empty() || all.back().engine != engine) all.push_back({engine});
        auto& sizes = all.back().took[what];
        if (sizes.empty()) all.back().operations.push_back(what);
        sizes[object.at("locks")] = {object.at("p50_us"), object.at("p99_us")};
    }
    return all;
}

std::vector<plot> plots_of(const grown& of) {
    plot made{of.engine + ": median", "lock rows", "ms"};
    plot reaping{of.engine + ": median of a look at 1,000 rows", "lock rows", "ms"};
    for (const std::string& each : of.operations) {
        line one{each};
        for (const auto& [size, took] : of.took.at(each)) {
            one.points.emplace_back(size, took.p50 / 1000);
        }
        (each.starts_with("reap") ? reaping : made).lines.push_back(std::move(one));
    }
    return {made, reaping};
}

}  // namespace

void print_growth(const page& what) {
    const std::string folder = std::filesystem::path{what.folder}.filename().string();
    std::filesystem::create_directories(what.folder);
    std::cout << "# Growth\n\n"
              << what.about
              << "\n\n`bench/table/growth` made this page. It measures each operation in "
                 "databases of so many lock\nrows; its `--help` says with how many sessions and "
                 "waiters. Commits do not wait for the disk, so\na growing time is growing "
                 "work.\n";
    for (const grown& each : engines_in(what.lines)) {
        std::set<double> sizes;
        for (const auto& [operation, took] : each.took) {
            for (const auto& [size, unused] : took) sizes.insert(size);
        }
        std::cout << "\n## " << each.engine << "\n\n| p50; p99 |";
        for (const double size : sizes) std::cout << " " << shown_number(size) << " lock rows |";
        std::cout << "\n|---|";
        for (std::size_t column = 0; column < sizes.size(); ++column) std::cout << "---|";
        std::cout << "\n";
        for (const std::string& operation : each.operations) {
            std::cout << "| " << operation << " |";
            for (const double size : sizes) {
                const auto found = each.took.at(operation).find(size);
                if (found == each.took.at(operation).end()) {
                    std::cout << " |";
                } else {
                    std::cout << " " << shown_time(found->second.p50) << "; "
                              << shown_time(found->second.p99) << " |";
                }
            }
            std::cout << "\n";
        }
        const std::string file = "growth-" + each.engine + ".svg";
        std::ofstream{what.folder + "/" + file} << svg_of(plots_of(each));
        std::cout << "\n![medians on " << each.engine << "](" << folder << "/" << file << ")\n";
    }
}

}  // namespace leasehold::bench
