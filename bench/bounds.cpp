#include "bench/bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "bench/print.hpp"

namespace leasehold::bench {
namespace {

// The least and the most workers a workload was measured with.
const report* find(const std::vector<report>& all, const char* what, bool with_most = false) {
    const report* found = nullptr;
    for (const report& each : all) {
        if (each.what.what != what || each.sides.empty()) continue;
        const bool is_better = !found || (with_most ? each.what.workers > found->what.workers
                                                    : each.what.workers < found->what.workers);
        if (is_better) found = &each;
    }
    return found;
}

double client_cpu_of(const side_report& of) {
    const auto found = of.each.find("client_cpu_us");
    return found == of.each.end() ? 0 : found->second;
}

std::string percent(double part, double whole) {
    return std::to_string(std::lround(100 * part / whole)) + " %";
}

std::string on_one(const acquire_parts& of, const surroundings& with) {
    std::string text = "An acquire by one thread takes " + shown_time(of.whole) + ": ";
    text.append(percent(of.flush, of.whole)).append(" is the flush of a durable commit, ");
    text.append(percent(of.round_trip, of.whole));
    text.append(with.has_server ? " the round trip, " : " the least that a read takes, ");
    text.append(percent(of.client, of.whole)).append(" this program's CPU, ");
    text.append(percent(of.server, of.whole));
    text.append(with.has_server ? " the server's work. " : " the system's work on the file. ");
    switch (of.largest()) {
        case acquire_parts::part::flush:
            return text + "It is bound by the flush: a faster disk makes it faster.";
        case acquire_parts::part::round_trip:
            return text + "It is bound by the round trip: a shorter way makes it faster.";
        case acquire_parts::part::client:
            return text + "It is bound by this machine's CPU.";
        case acquire_parts::part::server:
            break;
    }
    return text + (with.has_server ? "It is bound by the server's CPU, and what else that does."
                                   : "It is bound by the file system.");
}

std::string on_many(const report& one, const report& many, const surroundings& with) {
    const side_report& by_one = one.sides.front();
    const side_report& by_many = many.sides.front();
    std::string text = std::to_string(many.what.workers) + " threads do ";
    text.append(shown_number(by_many.rate.median / std::max(by_one.rate.median, 1e-9)));
    text.append(" times what ").append(std::to_string(one.what.workers)).append(" did. ");
    const double used = client_cpu_of(by_many) * by_many.rate.median / 1e6;
    text.append("This program uses ").append(shown_number(used)).append(" of ");
    text.append(std::to_string(with.processors));
    text.append(with.processors == 1 ? " CPU: they are bound by " : " CPUs: they are bound by ");
    if (used > 0.7 * with.processors) return text + "this machine's CPU.";
    if (!with.has_server) return text + "the file, which one of them writes at a time.";
    return text +
           "the server, whose CPU is not seen from here, and by flushes that wait for each "
           "other.";
}

}  // namespace

acquire_parts::part acquire_parts::largest() const {
    const std::array<std::pair<double, part>, 4> all{{
        {flush, part::flush},
        {round_trip, part::round_trip},
        {server, part::server},
        {client, part::client},
    }};
    const auto less = [](const auto& left, const auto& right) { return left.first < right.first; };
    return std::max_element(all.begin(), all.end(), less)->second;
}

const char* name_of(acquire_parts::part which) noexcept {
    switch (which) {
        case acquire_parts::part::flush:
            return "flush";
        case acquire_parts::part::round_trip:
            return "round trip";
        case acquire_parts::part::client:
            return "client CPU";
        case acquire_parts::part::server:
            break;
    }
    return "server";
}

// A commit and an empty round trip have the way to the server in common. The program's own work for
// half of a pair is taken off the rest.
std::optional<acquire_parts> parts_of(const std::vector<report>& all) {
    const report* const round_trip = find(all, "round-trip");
    const report* const commit = find(all, "commit");
    const report* const pair = find(all, "pair");
    if (!round_trip || !commit || !pair || pair->what.workers != 1) return std::nullopt;
    acquire_parts made;
    made.whole = pair->sides.front().took.first_p50;
    if (made.whole <= 0) return std::nullopt;
    auto at_most = [left = made.whole](double wanted) mutable {
        const double given = std::clamp(wanted, 0.0, left);
        left -= given;
        return given;
    };
    made.round_trip = at_most(round_trip->sides.front().took.p50);
    made.flush = at_most(commit->sides.front().took.p50 - made.round_trip);
    made.client = at_most(client_cpu_of(pair->sides.front()) / 2);
    made.server = made.whole - made.round_trip - made.flush - made.client;
    return made;
}

std::vector<std::string> sentences_on(const std::vector<report>& all, const surroundings& with) {
    std::vector<std::string> made;
    if (const auto parts = parts_of(all)) made.push_back(on_one(*parts, with));
    const report* const one = find(all, "pair");
    const report* const many = find(all, "pair", true);
    if (one != many) made.push_back(on_many(*one, *many, with));
    return made;
}

}  // namespace leasehold::bench
