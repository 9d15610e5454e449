#include "leasehold/metrics.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/seconds_text.hpp"
#include "leasehold/database.hpp"
#include "leasehold/error.hpp"
#include "observe/exposition.hpp"
#include "observe/job_tally.hpp"
#include "observe/tally.hpp"

namespace leasehold {
namespace {

metrics_settings checked(metrics_settings settings) {
    constexpr std::size_t max_bounds = 50;
    const auto& bounds = settings.bounds;
    const bool do_grow = std::ranges::adjacent_find(bounds, std::greater_equal<>{}) == bounds.end();
    const bool is_possible = !bounds.empty() && bounds.size() <= max_bounds && do_grow;
    if (!is_possible || bounds.front() <= std::chrono::nanoseconds{0}) {
        throw error(
            errc::invalid_argument, "the bounds of the histograms must be 1 to 50, growing from 0"
        );
    }
    constexpr std::string_view taken[] = {"reason", "outcome", "state", "le"};
    const std::string& name = settings.label_name;
    if (!is_label_name(name) || std::ranges::find(taken, name) != std::end(taken)) {
        throw error(errc::invalid_argument, "'" + name + "' cannot be the label of keys");
    }
    return settings;
}

}  // namespace

class metrics::implementation {
public:
    explicit implementation(metrics_settings settings) : settings_(checked(std::move(settings))) {
        for (const auto& each : settings_.bounds) bound_texts_.push_back(seconds_text(each));
        for (const auto& each : job_tally::attempt_bounds()) {
            attempt_texts_.push_back(std::to_string(each.count()));
        }
        bound_texts_.emplace_back("+Inf");
        attempt_texts_.emplace_back("+Inf");
    }

    void add(const event& what) noexcept {
        if (job_tally::counts(what.kind)) {
            const auto names = [&] { return order_of_job_names::views{what.queue, what.job_kind}; };
            return jobs_.of(names).add(what);
        }
        if (!settings_.label_of_key || what.key.empty()) return all_.add(what);
        tallies_.of([&] { return settings_.label_of_key(what.key); }).add(what);
    }

    void print(exposition& page) {
        const labelled labels = tallies_.all();
        for (const counted_family& each : counted_families()) print(page, each, labels);
        for (const timed_family& each : timed_families()) print(page, each, labels);
        print_jobs(page, jobs_.all());
    }

private:
    using key_tallies = tally_table<std::string, tally>;
    using labelled = key_tallies::entries;

    // Calls `print_one` with each tally that has something to do with the family, and its labels.
    template <class Family, class Print>
    void for_each(const Family& of, const labelled& labels, const Print& print_one) const {
        const bool is_labelled = settings_.label_of_key && of.is_of_keys;
        if (!is_labelled || all_.has_any(of)) print_one(all_, sample_labels{});
        if (!is_labelled) return;
        for (const auto& [label, each] : labels) {
            print_one(*each, sample_labels{{settings_.label_name, *label}});
        }
    }

    void print(exposition& page, const counted_family& of, const labelled& labels) const {
        page.begin(of.name, "counter", of.help);
        for_each(of, labels, [&](const tally& counts, const sample_labels& by) {
            for (const event_reason each : of.reasons) {
                sample_labels with = by;
                if (each != event_reason::none) with.emplace_back("reason", name_of(each));
                page.add("", with, std::to_string(counts.count(of, each)));
            }
        });
    }

    void print(exposition& page, const timed_family& of, const labelled& labels) const {
        page.begin(of.name, "histogram", of.help);
        for_each(of, labels, [&](const tally& counts, const sample_labels& by) {
            for (const timed_series& each : of.series) {
                sample_labels with = by;
                with.emplace_back("outcome", each.outcome);
                print(page, counts.time(each.which), std::move(with));
            }
        });
    }

    // Prints all outcomes of a queue and kind as soon as one of its jobs has started: a rate does
    // not see the first increase of a series that begins with that increase.
    void print_jobs(exposition& page, const job_tallies::entries& all) const {
        if (all.empty()) return;
        const auto by = [](const job_names& names) {
            return sample_labels{{"queue", names.first}, {"kind", names.second}};
        };
        const auto add = [&](const char* name, const char* help, event_kind of) {
            page.begin(name, "counter", help);
            for (const auto& [names, counts] : all) {
                page.add("", by(*names), std::to_string(counts->count(of)));
            }
        };
        using kind = event_kind;
        add("leasehold_jobs_enqueued_total", "New jobs enqueued here.", kind::job_enqueued);
        add("leasehold_jobs_claimed_total", "Jobs claimed by workers here.", kind::job_claimed);
        add("leasehold_jobs_started_total", "Jobs whose handlers were called.", kind::job_started);
        add("leasehold_jobs_timed_out_total",
            "Handlers that ran for longer than the time limit of their jobs.",
            kind::job_timed_out);
        page.begin("leasehold_jobs_ended_total", "counter", "Attempts of jobs that have ended.");
        for (const auto& [names, counts] : all) {
            for (std::size_t at = 0; at < job_tally::outcomes.size(); ++at) {
                sample_labels with = by(*names);
                with.emplace_back("outcome", name_of(job_tally::outcomes[at]));
                page.add("", with, std::to_string(counts->ended(at)));
            }
        }
        page.begin("leasehold_jobs_in_flight", "gauge", "Jobs started here and not ended.");
        for (const auto& [names, counts] : all) {
            page.add("", by(*names), std::to_string(counts->in_flight()));
        }
        page.begin("leasehold_job_wait_seconds", "histogram", "How long jobs waited for a worker.");
        for (const auto& [names, counts] : all) print(page, counts->waited(), by(*names));
        page.begin("leasehold_job_run_seconds", "histogram", "What the handlers of jobs took.");
        for (const auto& [names, counts] : all) print(page, counts->ran(), by(*names));
        page.begin("leasehold_job_attempts", "histogram", "The attempts of jobs that have ended.");
        for (const auto& [names, counts] : all) {
            const time_histogram& of = counts->attempts();
            print(page, of, by(*names), attempt_texts_, std::to_string(of.sum().count()));
        }
    }

    void print(exposition& page, const time_histogram& of, sample_labels with) const {
        print(page, of, std::move(with), bound_texts_, seconds_text(of.sum()));
    }
    static void print(
        exposition& page,
        const time_histogram& of,
        sample_labels with,
        const std::vector<std::string>& ends,
        const std::string& sum
    ) {
        std::uint64_t until_here = 0;
        for (std::size_t at = 0; at < ends.size(); ++at) {
            until_here += of.count(at);
            with.emplace_back("le", ends[at]);
            page.add("_bucket", with, std::to_string(until_here));
            with.pop_back();
        }
        page.add("_sum", with, sum);
        page.add("_count", with, std::to_string(until_here));
    }

    const metrics_settings settings_;
    std::vector<std::string> bound_texts_, attempt_texts_;
    tally all_{settings_.bounds};
    key_tallies tallies_{settings_.bounds, settings_.max_labels, "other"};
    job_tallies jobs_{settings_.bounds, settings_.max_labels, {"other", "other"}};
};

metrics::metrics(metrics_settings settings)
    : inner_(std::make_unique<implementation>(std::move(settings))) {}
metrics::~metrics() = default;

void metrics::on_event(const event& what) noexcept {
    inner_->add(what);
}

std::string metrics::text() const {
    exposition page;
    inner_->print(page);
    return page.take();
}

std::string metrics::text(const database& db) const {
    exposition page;
    inner_->print(page);
    const pool_use use = db.pool_usage();
    page.begin("leasehold_connections", "gauge", "Connections of the pool.");
    page.add("", {{"state", "lent"}}, std::to_string(use.lent));
    page.add("", {{"state", "idle"}}, std::to_string(use.idle));
    page.begin("leasehold_connections_max", "gauge", "How many connections the pool may have.");
    page.add("", {}, std::to_string(use.max));
    return page.take();
}

}  // namespace leasehold
