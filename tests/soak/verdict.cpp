#include "soak/verdict.hpp"

#include <cstdio>

#include "soak/checkers.hpp"
#include "soak/conductor.hpp"
#include "soak/jobs/job_checkers.hpp"
#include "soak/jobs/job_tables.hpp"
#include "soak/share_checkers.hpp"

namespace leasehold::soak {

account read_account(const std::filesystem::path& folder) {
    const auto history = read_history(folder);
    return {gather(history), gather_shares(history), gather_jobs(history)};
}

findings judge(const account& all, std::int64_t commits_min) {
    findings found;
    const auto add = [&](const findings& more) {
        found.insert(found.end(), more.begin(), more.end());
    };
    add(check_beliefs(all.locks));
    add(check_tokens(all.locks));
    add(check_effects(all.locks));
    add(check_sets(all.locks));
    add(check_control(all.locks));
    add(check_liveness(all.locks, liveness_timeout));
    add(check_weights(all.shares));
    add(check_share_tokens(all.shares));
    add(check_proofs(all.shares));
    add(check_readers(all.shares));
    add(check_ticks(all.shares));
    add(check_versions(all.shares));
    add(check_job_effects(all.jobs));
    add(check_job_tokens(all.jobs));
    add(check_job_holders(all.jobs));
    add(check_job_limits(all.jobs));
    add(check_job_order(all.jobs));
    add(check_job_uniqueness(all.jobs));
    add(check_progress(measure_progress(all.locks, all.shares), commits_min));
    add(check_progress(measure_jobs(all.jobs), commits_min));
    return found;
}

void print_line(const char* what, const std::string& value) {
    std::printf("  %-44s %s\n", what, value.c_str());
}

namespace {

std::string text(std::int64_t number) {
    return std::to_string(number);
}

void print_steps(const char* what, const std::map<int, std::vector<step>>& by_key) {
    std::map<phase, std::int64_t> counts;
    std::map<std::string, std::int64_t> refusals;
    for (const auto& [key, steps] : by_key) {
        for (const step& each : steps) {
            ++counts[each.outcome];
            if (each.outcome == phase::fail && each.detail.starts_with(refused_prefix)) {
                ++refusals[each.detail];
            }
        }
    }
    print_line(
        what,
        text(counts[phase::ok]) + " done, " + text(counts[phase::fail]) + " not, " +
            text(counts[phase::unknown]) + " unknown"
    );
    for (const auto& [why, count] : refusals) print_line(("  stale, " + why).c_str(), text(count));
}

void print_facts(const facts& all) {
    std::map<phase, std::int64_t> acquires;
    for (const step& each : all.acquires) ++acquires[each.outcome];
    print_line(
        "acquire",
        text(acquires[phase::ok]) + " granted, " + text(acquires[phase::fail]) + " not, " +
            text(acquires[phase::unknown]) + " unknown"
    );
    print_steps("append under proof", all.appends);
    print_steps("write without proof", all.controls);
    print_steps("release", all.releases);
    print_steps("free by force", all.forces);
    print_line("sessions opened", text(all.sessions));
    const control_loss loss = measure_control(all);
    print_line(
        "lost updates without proof",
        text(loss.lost) + " of " + text(loss.acknowledged) + " (" +
            text(loss.overwritten_by_a_stale_holder) + " stale holders overwrote)"
    );
    std::int64_t entries = 0, counter = 0;
    for (const auto& [key, list] : all.entries) entries += static_cast<std::int64_t>(list.size());
    for (const auto& [key, number] : all.counter) counter += number;
    print_line("lost updates with proof", text(entries - counter) + " of " + text(entries));
}

void print_shares(const account& all) {
    for (const auto& [what, count] : measure_progress(all.locks, all.shares)) {
        print_line(("commits under proof, " + what).c_str(), text(count));
    }
    for (const auto& [share, of] : all.shares) {
        std::map<phase, std::int64_t> counts;
        std::int64_t refused = 0;
        for (const proof_step& each : of.proofs) {
            ++counts[each.outcome];
            refused += each.outcome == phase::fail && each.detail.starts_with("refused");
        }
        std::string value = text(static_cast<std::int64_t>(of.grants.size())) + " granted, " +
                            text(of.refused) + " not; proofs: " + text(counts[phase::ok]) +
                            " done, " + text(refused) + " stale, " +
                            text(counts[phase::fail] - refused) + " failed, " +
                            text(counts[phase::unknown]) + " unknown";
        if (kind_of(share) != share_kind::row) {
            value += "; at once " + text(most_at_once(of)) + " of " + text(capacity_of(share));
        }
        print_line((name_of(kind_of(share)) + (" " + text(share))).c_str(), value);
    }
}

void print_jobs(const all_jobs& all) {
    for (const auto& [what, count] : measure_jobs(all)) {
        print_line(("effects, " + what).c_str(), text(count));
    }
    std::int64_t runs = 0, refused = 0, cancelled = 0;
    std::map<phase, std::int64_t> effects;
    for (const auto& [number, job] : all) {
        runs += std::ssize(job.runs);
        cancelled += job.cancelled_ns != never_ns;
        for (const job_effect& each : job.effects) {
            ++effects[each.outcome];
            refused += each.outcome == phase::fail && each.detail.starts_with("refused");
        }
    }
    print_line(
        "jobs",
        text(std::ssize(all)) + " in " + text(runs) + " runs, " + text(count_taken_over(all)) +
            " taken over from the dead, " + text(cancelled) +
            " cancelled; effects: " + text(effects[phase::ok]) + " done, " + text(refused) +
            " stale, " + text(effects[phase::fail] - refused) + " failed, " +
            text(effects[phase::unknown]) + " unknown"
    );
    print_line(
        "jobs at once",
        text(most_run_at_once(all, limited_queue)) + " of " + text(max_running) + ", elsewhere " +
            text(most_run_at_once(all, free_queue))
    );
}

}  // namespace

void print(const account& all) {
    print_facts(all.locks);
    print_shares(all);
    print_jobs(all.jobs);
}

void print(const fault_counts& counts) {
    print_line(
        "workers killed",
        text(counts.killed) + " (" + text(counts.killed_while_holding) + " while holding a key, " +
            text(counts.killed_while_doing_jobs) + " while doing jobs)"
    );
    print_line(
        "workers paused for 1.5 to 3 TTL",
        text(counts.paused) + " (" + text(counts.paused_while_working) + " while working, " +
            text(counts.paused_in_transaction) + " in a transaction, " +
            text(counts.paused_while_doing_jobs) + " while doing jobs)"
    );
    print_line("server killed and started", text(counts.server_killed));
    print_line("server paused", text(counts.server_paused));
    print_line("node held back behind the others", text(counts.server_held_back));
}

void print(const findings& found) {
    constexpr std::size_t max_shown = 20;
    for (std::size_t at = 0; at < found.size() && at < max_shown; ++at) {
        std::printf("VIOLATION %s %s\n", found[at].check.c_str(), found[at].text.c_str());
    }
    if (found.size() > max_shown) std::printf("... and %zu more\n", found.size() - max_shown);
}

}  // namespace leasehold::soak
