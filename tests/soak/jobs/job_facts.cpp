#include "soak/jobs/job_facts.hpp"

#include <algorithm>

namespace leasehold::soak {
namespace {

class job_gatherer {
public:
    void add(const record& what) {
        switch (what.what) {
            case operation::enqueue:
                note_enqueue(what);
                break;
            case operation::run:
                note_run(what);
                break;
            case operation::effect:
            case operation::completing:
                note_effect(what);
                break;
            case operation::cancel:
                note_cancel(what);
                break;
            case operation::done:
                made_[what.number].rows.push_back({what.process, what.id, what.token});
                break;
            case operation::left:
                made_[what.number].left = what.detail;
                break;
            default:
                break;
        }
    }

    all_jobs finish() {
        for (auto& [id, each] : effects_) made_[each.number].effects.push_back(each);
        for (auto& [id, each] : runs_) made_[each.number].runs.push_back(each);
        for (auto& [number, each] : made_) {
            std::sort(each.runs.begin(), each.runs.end(), [](const auto& a, const auto& b) {
                return a.invoked_ns < b.invoked_ns;
            });
            for (job_run& run : each.runs) settle(run, each);
        }
        return std::move(made_);
    }

private:
    void note_enqueue(const record& what) {
        const name id{what.process, what.id};
        if (what.when == phase::invoke) {
            asked_[id] = what;
        } else if (what.when == phase::ok) {
            job_facts& job = made_[what.number];
            // A conflicting job that was kept is somebody else's.
            if (what.detail.empty()) {
                note_origin(job, asked_[id]);
                job.is_new = true;
                job.answered_ns = what.at_ns;
            }
        }
    }
    static void note_origin(job_facts& job, const record& asked) {
        job.queue = asked.key;
        job.ordering_key = asked.grant;
        job.unique_key = asked.token;
        job.asked_ns = asked.at_ns;
    }

    template <class Step>
    static void note(Step& made, const record& what) {
        if (what.when == phase::invoke) {
            made.process = what.process;
            made.id = what.id;
            made.key = what.key;
            made.grant = what.grant;
            made.token = what.token;
            made.number = what.number;
            made.invoked_ns = what.at_ns;
        } else {
            made.ended_ns = what.at_ns;
            made.outcome = what.when;
        }
        if (!what.detail.empty()) made.detail = what.detail;
    }

    void note_run(const record& what) {
        job_run& made = runs_[{what.process, what.id}];
        note(made, what);
        made.live_until_ns = std::max(made.live_until_ns, what.until_ns);
        if (what.when != phase::invoke) return;
        job_facts& job = made_[what.number];
        job.queue = what.key;
        job.ordering_key = what.grant;
    }

    void note_effect(const record& what) {
        job_effect& made = effects_[{what.process, what.id}];
        const auto run = runs_.find({what.process, what.grant});
        if (run != runs_.end()) {
            run->second.live_until_ns = std::max(run->second.live_until_ns, what.until_ns);
        }
        if (what.what == operation::completing) {
            made.completing_ns = what.at_ns;
            return;
        }
        note(made, what);
        if (what.when != phase::invoke) made.live_until_ns = what.until_ns;
    }

    void note_cancel(const record& what) {
        job_facts& job = made_[what.number];
        const bool is_answer = what.when == phase::ok;
        const bool is_late = is_answer && (what.detail == "ended" || what.detail == "not_found");
        job.cancels += what.when == phase::invoke;
        job.cancels -= is_late || what.when == phase::fail;
        if (is_answer && what.detail == "cancelled") {
            job.cancelled_ns = std::min(job.cancelled_ns, what.at_ns);
        }
    }

    void settle(job_run& run, const job_facts& job) const {
        std::int64_t end = run.ended_ns;
        for (const job_effect& each : job.effects) {
            if (each.process != run.process || each.grant != run.id) continue;
            const bool is_there = std::ranges::any_of(job.rows, [&](const done_row& row) {
                return row.process == each.process && row.id == each.id;
            });
            if (is_there || each.outcome == phase::ok) end = std::min(end, each.completing_ns);
        }
        run.held_until_ns = std::min(end, run.live_until_ns);
    }

    all_jobs made_;
    std::map<name, record> asked_;
    std::map<name, job_run> runs_;
    std::map<name, job_effect> effects_;
};

}  // namespace

std::int64_t job_facts::completed_ns() const {
    for (const job_effect& each : effects) {
        const bool is_there = std::ranges::any_of(rows, [&](const done_row& row) {
            return row.process == each.process && row.id == each.id;
        });
        if (is_there) return each.completing_ns;
    }
    return never_ns;
}

all_jobs gather_jobs(const std::vector<record>& history) {
    job_gatherer all;
    for (const record& each : history) all.add(each);
    return all.finish();
}

}  // namespace leasehold::soak
