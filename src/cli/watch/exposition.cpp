#include "cli/watch/exposition.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output.hpp"
#include "cli/show/described.hpp"

namespace leasehold::cli {
namespace {

using label_list = std::vector<std::pair<std::string_view, std::string_view>>;

std::string number_of(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.15g", value);
    return text.data();
}

// One gauge: its help, its type, and a line for each of its values.
class gauge {
public:
    gauge(std::string& text, std::string name, std::string_view help)
        : text_(text), name_("leasehold_" + std::move(name)) {
        text_.append("# HELP ").append(name_).append(" ").append(help).append("\n# TYPE ");
        text_.append(name_).append(" gauge\n");
    }

    gauge& add(double value, const label_list& labels = {}) {
        text_ += name_;
        const char* before = "{";
        for (const auto& [label, words] : labels) {
            text_.append(before).append(label).append("=\"");
            text_ += with_replaced(as_text(words), {{'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}});
            text_ += '"';
            before = ",";
        }
        if (!labels.empty()) text_ += '}';
        text_.append(" ").append(number_of(value)).append("\n");
        return *this;
    }
    gauge& add(std::int64_t value, const label_list& labels = {}) {
        return add(static_cast<double>(value), labels);
    }

private:
    std::string& text_;
    std::string name_;
};

void add_queues(std::string& text, const snapshot& now) {
    gauge all{text, "all_jobs", "Jobs of all queues in a state, with those of left out queues."};
    for (const job_state state : states_shown) {
        all.add(count_in(now.job_count, state), {{"state", name_of(state)}});
    }
    gauge{text, "queues", "Queues of jobs."}.add(now.queue_count);
    gauge{text, "queues_left_out", "Those that have no gauges of their own: the last by name."}.add(
        now.queue_count - std::ssize(now.queues)
    );
    gauge jobs{text, "jobs", "Jobs of a queue in a state; of ended ones those that are kept."};
    for (const queue_info& each : now.queues) {
        for (const job_state state : states_shown) {
            jobs.add(count_in(each.jobs, state), {{"queue", each.name}, {"state", name_of(state)}});
        }
    }
    gauge oldest{
        text, "oldest_available_job_seconds", "For how long a job has waited for a worker; or 0."};
    for (const queue_info& each : now.queues) {
        const auto waits = each.oldest_available.value_or(std::chrono::microseconds{0});
        oldest.add(seconds_of(waits), {{"queue", each.name}});
    }
    gauge paused{text, "queue_paused", "1 where no job of the queue is started."};
    for (const queue_info& each : now.queues) {
        paused.add(std::int64_t{each.is_paused}, {{"queue", each.name}});
    }
}

void add_findings(std::string& text, const snapshot& now) {
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;
    for (const finding& each : now.findings) {
        if (each.severity == severity::good) continue;
        ++counts[{each.name, name_of(each.severity)}];
    }
    gauge findings{text, "doctor_findings", "What `leasehold doctor` finds wrong, by name."};
    for (const auto& [what, count] : counts) {
        findings.add(count, {{"name", what.first}, {"severity", what.second}});
    }
    if (!now.examined) return;
    gauge{text, "doctor_timestamp_seconds", "When the doctor looked last."}.add(
        seconds_of(now.examined->time_since_epoch())
    );
}

}  // namespace

std::string exposition(const snapshot& now, bool is_late) {
    std::string text;
    const bool is_up = !now.failure && !is_late && now.taken;
    gauge{text, "up", "1 where the database was read."}.add(std::int64_t{is_up});
    if (now.taken) {
        gauge{text, "read_timestamp_seconds", "When the database was read last."}.add(
            seconds_of(now.taken->time_since_epoch())
        );
    }
    if (!is_up) return text;
    const lock_counts& locks = now.locks.counts;
    gauge{text, "locks_held", "Keys that somebody holds."}.add(locks.keys);
    gauge{text, "lock_holders", "Holders of all keys."}.add(locks.holders);
    gauge{text, "lock_waiters", "Live calls that queue for a key."}.add(locks.waiters);
    gauge{text, "sessions", "Sessions; the dead were not cleaned up yet."}
        .add(now.session_count.live, {{"state", "live"}})
        .add(now.session_count.dead, {{"state", "dead"}});
    gauge runs{text, "runs", "Tasks by what became of their last run."};
    for (const run_state each :
         {run_state::running, run_state::succeeded, run_state::failed, run_state::abandoned}) {
        runs.add(count_in(now.run_count, each), {{"state", name_of(each)}});
    }
    gauge{text, "schedules", "Schedules of jobs."}.add(now.schedule_count);
    gauge{text, "schedules_overdue", "Those whose tick nobody has fired for a minute."}.add(
        now.overdue_count
    );
    add_queues(text, now);
    add_findings(text, now);
    return text;
}

}  // namespace leasehold::cli
