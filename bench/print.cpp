#include "bench/print.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

namespace leasehold::bench {
namespace {

std::string with_decimals(double number, int decimals) {
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.*f", decimals, number);
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string three_digits(double number) {
    return with_decimals(number, number < 9.995 ? 2 : number < 99.95 ? 1 : 0);
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.insert(0, width - text.size(), ' ');
    return text;
}

// The names of the counts in a line.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> count_words{{
    {"statements", " statements"},
    {"round_trips", " round trips"},
    {"commits", " commits"},
    {"flushes", " flushes"},
    {"log_bytes", " B of log"},
    {"bytes_written", " B written"},
    {"cold_updates", " updates that were not HOT"},
    {"dead_rows", " dead rows left"},
    {"server_cpu_us", " us of server CPU"},
    {"client_cpu_us", " us of client CPU"},
}};

constexpr std::size_t name_width = 16, rate_width = 10, spread_width = 22, time_width = 9;

std::string line_of(const side_report& of) {
    std::string line = "  " + of.name;
    line.resize(std::max(line.size(), name_width), ' ');
    line += padded(shown_number(of.rate.median), rate_width);
    std::string spread = "(" + shown_number(of.rate.min);
    spread.append(" to ").append(shown_number(of.rate.max)).append(")");
    line += padded(spread, spread_width);
    for (const double each : {of.took.p50, of.took.p90, of.took.p99, of.took.max}) {
        line += padded(shown_time(each), time_width);
    }
    if (of.took.first_p50 > 0) line += "  acquire " + shown_time(of.took.first_p50);
    const std::string counts = counts_of(of);
    return line + "\n" + (counts.empty() ? "" : std::string(name_width, ' ') + counts + "\n");
}

}  // namespace

std::string shown_time(double microseconds) {
    if (microseconds < 999.5) return three_digits(microseconds) + " us";
    if (microseconds < 999'500) return three_digits(microseconds / 1000) + " ms";
    return three_digits(microseconds / 1'000'000) + " s";
}

std::string shown_number(double number) {
    if (number < 99.95) return three_digits(number);
    const std::string digits = with_decimals(number, 0);
    std::string text;
    for (std::size_t each = 0; each < digits.size(); ++each) {
        if (each > 0 && (digits.size() - each) % 3 == 0) text += ',';
        text += digits[each];
    }
    return text;
}

std::string counts_of(const side_report& of) {
    std::string text;
    for (const auto& [name, words] : count_words) {
        const auto found = of.each.find(std::string{name});
        if (found == of.each.end()) continue;
        text.append(text.empty() ? "" : ", ").append(shown_number(found->second)).append(words);
    }
    return text;
}

std::string text_heading() {
    std::string line(name_width, ' ');
    line += padded("median/s", rate_width) + padded("(least to most)", spread_width);
    for (const char* each : {"p50", "p90", "p99", "max"}) line += padded(each, time_width);
    return line + "\n";
}

std::string text_of(const report& of) {
    std::string text = of.what.what;
    text.append(", ").append(of.what.shape()).append(": ").append(of.what.unit()).append("\n");
    for (const side_report& each : of.sides) text += line_of(each);
    for (const side_report& each : of.sides) {
        if (each.ratio.median <= 0) continue;
        text.append("  ").append(of.sides.front().name).append(" has ");
        text.append(three_digits(each.ratio.median)).append(" of the rate of ").append(each.name);
        text.append(" (").append(three_digits(each.ratio.min)).append(" to ");
        text.append(three_digits(each.ratio.max)).append("), and takes ");
        text.append(three_digits(each.latency_ratio)).append(" times as long\n");
    }
    return text;
}

}  // namespace leasehold::bench
