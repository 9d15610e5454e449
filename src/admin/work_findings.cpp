#include "admin/work_findings.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "admin/some_findings.hpp"
#include "core/in_words.hpp"
#include "core/shell_word.hpp"
#include "leasehold/error.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr int max_looked_at = 1000;
// Each process that starts due work looks once a minute at least.
constexpr microseconds overdue_from = 1min;

finding not_all(const std::string& nouns, const std::string& last) {
    return {
        severity::good,
        "not_looked_at",
        nouns + " behind '" + last + "' were not looked at: there are more than " +
            std::to_string(max_looked_at),
        "what is wrong there is not found",
        "watch them by `leasehold runs --prefix` and `leasehold schedule list`"};
}

// The schedule's answer; or nullopt, with the reason in `why`.
template <class Make>
std::optional<schedule> made(std::string& why, Make&& make) {
    try {
        return make();
    } catch (const error& failure) {
        const bool is_strange =
            failure.code() == errc::invalid_argument || failure.code() == errc::unsupported;
        if (!is_strange) throw;
        why = failure.what();
        return std::nullopt;
    }
}

finding cannot_fire(const std::string& whose, const std::string& why) {
    return {
        severity::warning,
        "schedule_cannot_fire",
        whose + " has no fire times on this host: " + why,
        "on a host like this one it never runs",
        "install the time zones (tzdata) on each host that runs it, or set another schedule"};
}

finding failed(const run_info& run) {
    const std::string status =
        run.exit_status ? " with status " + std::to_string(*run.exit_status) : "";
    const std::string first_line = run.message.substr(0, run.message.find('\n'));
    return {
        severity::warning,
        "failed_run",
        "the last run of '" + run.name + "' began " + in_words(run.started_ago) +
            " ago and has failed" + status + (first_line.empty() ? "" : ": " + first_line),
        "its work is not done, and nobody tries it again before its next fire time",
        "leasehold runs --prefix " + shell_word(run.name) + " shows it"};
}

finding abandoned(const run_info& run) {
    return {
        severity::warning,
        "abandoned_run",
        "the last run of '" + run.name + "' began " + in_words(run.started_ago) + " ago at " +
            run.node_info + ", and its lease is held no more",
        "its process has died, or was cut off: nobody knows how much of its work is done",
        "look for the process there; the next call of `leasehold once` runs it again, unless "
        "--no-repeat"};
}

finding overdue(const run_info& run, microseconds since) {
    const bool runs = run.state == run_state::running;
    return {
        severity::warning,
        "overdue_run",
        "'" + run.name + "' should have run " + in_words(since) + " ago" +
            (runs ? "; an earlier run of it goes on" : ", and nobody has started it"),
        "its work is not done",
        runs ? "wait for the end of that run, or look at its process"
             : "see whether what calls `leasehold once` still does: cron, or a timer, on any host; "
               "leasehold runs --forget " +
                   shell_word(run.name) + " where nobody should any more"};
}

}  // namespace

std::vector<finding> find_in_runs(connection& on, run_store& runs) {
    some_findings failed_ones{"tasks"}, abandoned_ones{"tasks"}, overdue_ones{"tasks"},
        strange_ones{"tasks"};
    const auto all = runs.list(on, "", "", max_looked_at + 1);
    for (std::size_t at = 0; at < std::min<std::size_t>(all.size(), max_looked_at); ++at) {
        const run_look& seen = all[at];
        const run_info& run = seen.last.value();
        if (run.state == run_state::failed) failed_ones.add(failed(run));
        if (run.state == run_state::abandoned) abandoned_ones.add(abandoned(run));
        if (run.schedule_text.empty()) continue;
        std::string why;
        const auto when = made(why, [&] { return schedule::parse(run.schedule_text); });
        if (!when) {
            strange_ones.add(cannot_fire("task '" + run.name + "'", why));
            continue;
        }
        // This compares with the first missed fire time: if a task fires each minute, the latest
        // one is never a minute old.
        const microseconds late = seen.now - when->next(run.tick);
        if (late > overdue_from) overdue_ones.add(overdue(run, late));
    }
    std::vector<finding> found;
    failed_ones.move_to(found);
    abandoned_ones.move_to(found);
    overdue_ones.move_to(found);
    strange_ones.move_to(found);
    if (all.size() > max_looked_at) {
        found.push_back(not_all("tasks", all[max_looked_at - 1].last->name));
    }
    return found;
}

std::vector<finding> find_in_schedules(connection& on, job_schedule_store& schedules) {
    some_findings strange_ones{"schedules"}, overdue_ones{"schedules"};
    std::vector<finding> found;
    std::string after;
    for (int seen = 0; seen < max_looked_at; seen += job_schedule_store::max_rows) {
        const auto page = schedules.list(on, after);
        for (const job_schedule_row& each : page.rows) {
            if (each.is_paused) continue;
            const job_schedule& what = each.what;
            std::string why;
            const auto when = made(why, [&] {
                return what.every ? schedule::every(*what.every)
                                  : schedule::cron(what.cron, what.zone);
            });
            if (!when) {
                strange_ones.add(cannot_fire("schedule '" + what.name + "'", why));
            } else if (page.now - each.next > overdue_from) {
                overdue_ones.add(
                    {severity::warning,
                     "overdue_schedule",
                     "schedule '" + what.name + "' should have fired " +
                         in_words(page.now - each.next) + " ago",
                     "its jobs are not enqueued: the workers of a queue fire its schedules",
                     "start a worker of queue '" + what.queue + "'"}
                );
            }
        }
        if (page.rows.size() < job_schedule_store::max_rows) {
            after.clear();
            break;
        }
        after = page.rows.back().what.name;
    }
    strange_ones.move_to(found);
    overdue_ones.move_to(found);
    if (!after.empty() && !schedules.list(on, after).rows.empty()) {
        found.push_back(not_all("schedules", after));
    }
    return found;
}

}  // namespace leasehold
