#include "bench/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace leasehold::bench {
namespace {

using nlohmann::json;

json json_of(const spread& of) {
    return {{"median", of.median}, {"min", of.min}, {"max", of.max}};
}

spread spread_in(const json& object) {
    return {object.at("median"), object.at("min"), object.at("max")};
}

json json_of(const side_report& of) {
    json made{
        {"name", of.name},
        {"per_second", json_of(of.rate)},
        {"latency_us",
         {{"p50", of.took.p50}, {"p90", of.took.p90}, {"p99", of.took.p99}, {"max", of.took.max}}},
        {"operations", of.operations},
        {"per_item", of.each},
    };
    if (of.took.first_p50 > 0) made["latency_us"]["first_p50"] = of.took.first_p50;
    if (of.ratio.median > 0) {
        made["ratio"] = json_of(of.ratio);
        made["latency_ratio"] = of.latency_ratio;
    }
    return made;
}

side_report side_in(const json& object) {
    const json& took = object.at("latency_us");
    side_report made;
    made.name = object.at("name");
    made.rate = spread_in(object.at("per_second"));
    made.took = {took.at("p50"), took.at("p90"), took.at("p99"), took.at("max")};
    made.took.first_p50 = took.value("first_p50", 0.0);
    made.operations = object.at("operations");
    made.each = object.at("per_item").get<std::map<std::string, double>>();
    if (!object.contains("ratio")) return made;
    made.ratio = spread_in(object.at("ratio"));
    made.latency_ratio = object.at("latency_ratio");
    return made;
}

}  // namespace

spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto middle = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {median, values.front(), values.back()};
}

json json_of(const report& of) {
    json sides = json::array();
    for (const side_report& each : of.sides) sides.push_back(json_of(each));
    return {
        {"benchmark", of.what.what},
        {"workers", of.what.workers},
        {"as", of.what.are_processes ? "processes" : "threads"},
        {"batch", of.what.batch},
        {"held", of.what.held},
        {"unit", of.what.unit()},
        {"repetitions", of.repetitions},
        {"sides", sides},
    };
}

report report_in(const json& object) {
    report made;
    made.what.what = object.at("benchmark");
    made.what.workers = object.at("workers");
    made.what.are_processes = object.at("as") == "processes";
    made.what.batch = object.at("batch");
    made.what.held = object.at("held");
    made.repetitions = object.at("repetitions");
    for (const json& each : object.at("sides")) made.sides.push_back(side_in(each));
    return made;
}

}  // namespace leasehold::bench
