#include "bench/comparison.hpp"

#include <algorithm>

namespace leasehold::bench {
namespace {

double in_microseconds(std::chrono::nanoseconds length) {
    return static_cast<double>(length.count()) / 1000;
}

// All rounds of one side.
struct record {
    std::vector<double> rates{};
    tally all{};
    counts server{};
};

class rounds {
public:
    rounds(
        const workload& what,
        const timing& timing,
        gauges& counted,
        const round_listener& tell,
        const std::stop_token& stop
    )
        : what_(what), timing_(timing), counted_(counted), tell_(tell), stop_(stop) {}

    void warm_up(const contender& each) {
        tell_(each.name, 0);
        run(each, std::min(timing_.round, std::chrono::milliseconds{200}), {});
    }

    void measure(const contender& each, int repetition, record& into) {
        tell_(each.name, repetition);
        each.who->before_round();
        counts before;
        counts after;
        const tally done =
            run(each,
                timing_.round,
                {[&] { before = counted_.read(); }, [&] { after = counted_.read(); }});
        for (const auto& [name, value] : counted_.between(before, after)) {
            into.server[name] += value;
        }
        const double seconds = std::chrono::duration<double>(done.span).count();
        into.rates.push_back(done.items == 0 ? 0 : static_cast<double>(done.items) / seconds);
        into.all.add(done);
    }

private:
    tally run(const contender& each, std::chrono::milliseconds length, const round_marks& marks) {
        if (stop_.stop_requested()) throw interrupted();
        // It takes a while until all workers queue.
        const std::chrono::milliseconds lead{what_.what == "hop" ? 10 * what_.workers : 0};
        // Later than the last thread or process is ready.
        const std::chrono::milliseconds ready{5 + what_.workers / 4};
        tally done = each.who->run({clock::now() + ready + lead, length, lead}, marks, stop_);
        if (stop_.stop_requested()) throw interrupted();
        return done;
    }

    const workload& what_;
    const timing& timing_;
    gauges& counted_;
    const round_listener& tell_;
    const std::stop_token& stop_;
};

side_report report_of(const std::string& name, const record& from) {
    side_report made;
    made.name = name;
    made.rate = spread_of(from.rates);
    made.operations = from.all.operations;
    const auto at = [&](double share) { return in_microseconds(from.all.whole.at(share)); };
    made.took = {at(0.5), at(0.9), at(0.99), in_microseconds(from.all.whole.max())};
    made.took.first_p50 = in_microseconds(from.all.first.at(0.5));
    if (from.all.items == 0) return made;
    const auto items = static_cast<double>(from.all.items);
    for (const auto& [counted, value] : from.server) made.each[counted] = value / items;
    made.each["client_cpu_us"] = in_microseconds(from.all.client_cpu) / items;
    // In a server's client this would count the bytes for its sockets.
    if (from.server.empty()) {
        made.each["bytes_written"] = static_cast<double>(from.all.bytes_written) / items;
    }
    return made;
}

void compare_with(const record& first, const side_report& of_first, record& with, side_report& to) {
    std::vector<double> ratios;
    for (std::size_t each = 0; each < with.rates.size(); ++each) {
        if (with.rates[each] > 0) ratios.push_back(first.rates[each] / with.rates[each]);
    }
    to.ratio = spread_of(std::move(ratios));
    if (to.took.p50 > 0) to.latency_ratio = of_first.took.p50 / to.took.p50;
}

}  // namespace

report compare(
    const workload& what,
    const std::vector<contender>& sides,
    const timing& timing,
    gauges& counted,
    const round_listener& tell,
    const std::stop_token& stop
) {
    rounds measured{what, timing, counted, tell, stop};
    std::vector<record> records(sides.size());
    for (const contender& each : sides) {
        each.who->before_round();
        measured.warm_up(each);
    }
    for (int repetition = 1; repetition <= timing.repetitions; ++repetition) {
        for (std::size_t each = 0; each < sides.size(); ++each) {
            measured.measure(sides[each], repetition, records[each]);
        }
    }
    report made{what, timing.repetitions};
    for (std::size_t each = 0; each < sides.size(); ++each) {
        made.sides.push_back(report_of(sides[each].name, records[each]));
        if (each == 0) continue;
        compare_with(records[0], made.sides[0], records[each], made.sides.back());
    }
    return made;
}

}  // namespace leasehold::bench
