#include "soak/jobs/job_checkers.hpp"

#include <algorithm>
#include <set>

#include "soak/jobs/job_tables.hpp"

namespace leasehold::soak {
namespace {

void complain(findings& into, const char* check, std::int64_t job, const std::string& text) {
    into.push_back({check, "job " + std::to_string(job) + ": " + text});
}

bool is_refused(const job_effect& what) {
    return what.outcome == phase::fail && what.detail.starts_with("refused");
}

// Somebody surely had a job of these for so long.
struct hold {
    std::int64_t from_ns;
    std::int64_t until_ns;
    std::int64_t job;
    const job_run* run;
};

template <class Wanted>
std::vector<hold> holds_of(const all_jobs& all, Wanted&& wanted) {
    std::vector<hold> found;
    for (const auto& [number, job] : all) {
        if (!wanted(job)) continue;
        for (const job_run& each : job.runs) {
            if (each.held_until_ns <= each.invoked_ns) continue;
            found.push_back({each.invoked_ns, each.held_until_ns, number, &each});
        }
    }
    std::ranges::sort(found, {}, &hold::from_ns);
    return found;
}

// Calls `seen` with all that are there, each time somebody has come.
template <class Seen>
void sweep(const std::vector<hold>& all, Seen&& seen) {
    std::vector<const hold*> there;
    for (const hold& each : all) {
        std::erase_if(there, [&](const hold* other) { return other->until_ns <= each.from_ns; });
        there.push_back(&each);
        seen(there);
    }
}

std::string names_of(const std::vector<const hold*>& all) {
    std::string text;
    for (const hold* each : all) {
        text += " job " + std::to_string(each->job) + " by " + label(*each->run) + ";";
    }
    return text;
}

void check_at_most(
    findings& into,
    const char* check,
    const std::string& where,
    std::int64_t most,
    const std::vector<hold>& all
) {
    sweep(all, [&](const std::vector<const hold*>& there) {
        if (std::ssize(there) <= most) return;
        into.push_back(
            {check,
             where + ": " + std::to_string(there.size()) + " ran at once, and " +
                 std::to_string(most) + " may:" + names_of(there)}
        );
    });
}

void check_rows(findings& into, std::int64_t number, const job_facts& job) {
    std::map<name, const job_effect*> effects;
    for (const job_effect& each : job.effects) effects[{each.process, each.id}] = &each;
    std::set<name> there;
    for (const done_row& each : job.rows) {
        const name id{each.process, each.id};
        there.insert(id);
        const auto found = effects.find(id);
        if (found == effects.end()) {
            complain(into, "J1", number, label(each.process, each.id) + " is there, and unknown");
            continue;
        }
        const job_effect& wrote = *found->second;
        if (wrote.outcome == phase::fail) {
            complain(into, "J1", number, label(wrote) + " is there, and was not: " + wrote.detail);
        }
    }
    if (job.rows.size() > 1) {
        std::string text = "its effect is there " + std::to_string(job.rows.size()) + " times:";
        for (const done_row& each : job.rows) {
            text +=
                " " + label(each.process, each.id) + " (token " + std::to_string(each.token) + ");";
        }
        complain(into, "J1", number, text);
    }
    for (const auto& [id, each] : effects) {
        if (each->outcome != phase::ok || there.contains(id)) continue;
        complain(into, "J1", number, label(*each) + ": an acknowledged effect is missing");
    }
}

}  // namespace

findings check_job_effects(const all_jobs& all) {
    findings found;
    for (const auto& [number, job] : all) {
        check_rows(found, number, job);
        if (!job.left.empty()) complain(found, "J1", number, "it is left, " + job.left);
        if (job.cancelled_ns != never_ns && !job.rows.empty()) {
            complain(found, "J1", number, "it was cancelled, and has its effect");
        }
        const bool was_there = job.is_new || !job.runs.empty();
        if (was_there && job.rows.empty() && job.cancels == 0 && job.left.empty()) {
            complain(found, "J1", number, "it is gone, without its effect");
        }
    }
    return found;
}

findings check_job_tokens(const all_jobs& all) {
    findings found;
    for (const auto& [number, job] : all) {
        std::map<std::int64_t, const job_run*> by_token;
        std::map<int, const job_run*> last_of_process;
        for (const job_run& each : job.runs) {
            const auto [before, is_new] = by_token.emplace(each.token, &each);
            if (!is_new) {
                complain(
                    found,
                    "J2",
                    number,
                    label(*before->second) + " and " + label(each) + ": the same token"
                );
            }
            // A process starts what it claims in the order of its claims.
            const job_run*& last = last_of_process[each.process];
            if (last && last->token > each.token) {
                complain(found, "J2", number, label(each) + " was claimed after " + label(*last));
            }
            last = &each;
        }
        for (const done_row& each : job.rows) {
            if (by_token.empty() || by_token.rbegin()->first <= each.token) continue;
            complain(
                found,
                "J2",
                number,
                label(each.process, each.id) + " committed under token " +
                    std::to_string(each.token) + ", and " + label(*by_token.rbegin()->second) +
                    " had it since"
            );
        }
    }
    return found;
}

findings check_job_holders(const all_jobs& all) {
    findings found;
    for (const auto& [number, job] : all) {
        for (const job_run& older : job.runs) {
            for (const job_run& newer : job.runs) {
                if (newer.token <= older.token || newer.invoked_ns >= older.held_until_ns) continue;
                complain(
                    found,
                    "J3",
                    number,
                    label(newer) + " had it " + in_ms(older.held_until_ns - newer.invoked_ns) +
                        " before " + label(older) + " was through, whose session lived"
                );
            }
        }
        for (const job_effect& each : job.effects) {
            if (!is_refused(each) || each.live_until_ns <= each.ended_ns) continue;
            complain(found, "J3", number, label(each) + " was refused, and its session lived");
        }
    }
    return found;
}

findings check_job_limits(const all_jobs& all) {
    findings found;
    const auto is_limited = [](const job_facts& job) { return job.queue == limited_queue; };
    const std::string where = "queue " + name_of_queue(limited_queue);
    check_at_most(found, "J4", where, max_running, holds_of(all, is_limited));
    return found;
}

findings check_job_order(const all_jobs& all) {
    findings found;
    std::map<std::pair<int, std::int64_t>, std::vector<std::pair<std::int64_t, const job_facts*>>>
        by_key;
    for (const auto& [number, job] : all) {
        if (job.ordering_key) by_key[{job.queue, job.ordering_key}].emplace_back(number, &job);
    }
    for (const auto& [key, jobs] : by_key) {
        const std::string where =
            "queue " + name_of_queue(key.first) + ", ordering key " + std::to_string(key.second);
        const auto is_of_it = [&, wanted = key](const job_facts& job) {
            return std::pair{job.queue, job.ordering_key} == wanted;
        };
        check_at_most(found, "J5", where, 1, holds_of(all, is_of_it));
        for (const auto& [number, job] : jobs) {
            if (job->runs.empty() || !job->is_new) continue;
            for (const auto& [other, before] : jobs) {
                if (other >= number) break;
                // Nobody knows when a cancelled job ended.
                if (before->answered_ns >= job->asked_ns || before->cancels > 0) continue;
                if (before->completed_ns() <= job->runs.front().invoked_ns) continue;
                complain(
                    found,
                    "J5",
                    number,
                    "it was started by " + label(job->runs.front()) + " before job " +
                        std::to_string(other) + " of its key had ended, enqueued before it"
                );
            }
        }
    }
    return found;
}

findings check_job_uniqueness(const all_jobs& all) {
    findings found;
    std::map<std::pair<int, std::int64_t>, std::vector<std::pair<std::int64_t, const job_facts*>>>
        by_key;
    for (const auto& [number, job] : all) {
        if (job.unique_key && job.is_new) {
            by_key[{job.queue, job.unique_key}].emplace_back(number, &job);
        }
    }
    for (const auto& [key, jobs] : by_key) {
        for (const auto& [number, job] : jobs) {
            for (const auto& [other, before] : jobs) {
                const bool was_there = before->answered_ns < job->asked_ns;
                if (!was_there || before->cancels > 0) continue;
                if (before->completed_ns() < job->answered_ns) continue;
                complain(
                    found,
                    "J6",
                    number,
                    "it was enqueued while job " + std::to_string(other) +
                        " of its unique key had not ended"
                );
            }
        }
    }
    return found;
}

// ------------------------------------------------------------------------------------ progress

progress measure_jobs(const all_jobs& all) {
    progress made{
        {"job, limited queue", 0},
        {"job, free queue", 0},
        {"job, ordered", 0},
        {"job, unique", 0},
    };
    for (const auto& [number, job] : all) {
        if (job.rows.empty()) continue;
        ++made[job.queue == limited_queue ? "job, limited queue" : "job, free queue"];
        made["job, ordered"] += job.ordering_key != 0;
        made["job, unique"] += job.unique_key != 0;
    }
    return made;
}

std::int64_t most_run_at_once(const all_jobs& all, int queue) {
    std::int64_t most = 0;
    sweep(
        holds_of(all, [&](const job_facts& job) { return job.queue == queue; }),
        [&](const auto& there) { most = std::max(most, std::ssize(there)); }
    );
    return most;
}

std::int64_t count_taken_over(const all_jobs& all) {
    return std::ranges::count_if(all, [](const auto& each) {
        const auto& runs = each.second.runs;
        return std::ranges::any_of(runs, [&](const job_run& run) {
            return run.ended_ns == never_ns && run.token < runs.back().token;
        });
    });
}

}  // namespace leasehold::soak
