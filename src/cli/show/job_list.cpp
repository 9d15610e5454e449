#include "cli/show/job_list.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/output.hpp"
#include "cli/show/job_lines.hpp"
#include "cli/ticking_line.hpp"

namespace leasehold::cli {
namespace {

using nlohmann::json;

json json_of_failures(const job_info& job) {
    json all = json::array();
    const auto ago = [](std::chrono::microseconds length) {
        return length.count() > 0 ? json(seconds_of(length)) : json();
    };
    for (const job_failure& each : job.failures) {
        all.push_back({
            {"attempt", each.attempt},
            {"node", each.node_info},
            {"error", each.error},
            {"began_seconds_ago", ago(each.began_ago)},
            {"ended_seconds_ago", ago(each.ended_ago)},
        });
    }
    return all;
}

json json_of_job(const job_info& job) {
    const auto seconds_or_null = [](const std::optional<std::chrono::microseconds>& length) {
        return length ? json(seconds_of(*length)) : json();
    };
    return {
        {"id", job.id},
        {"queue", job.queue},
        {"kind", job.kind},
        {"state", name_of(job.state)},
        {"priority", job.priority},
        {"attempts", job.attempts},
        {"attempts_max", job.max_attempts},
        {"rescues", job.rescues},
        {"token", job.token.number},
        {"payload", job.payload},
        {"unique_key", job.unique_key},
        {"ordering_key", job.ordering_key},
        {"node", job.node_info},
        {"progress", job.progress},
        {"error", job.error},
        {"result", job.result},
        {"cancel_requested", job.is_cancel_requested},
        {"enqueued_seconds_ago", seconds_of(job.enqueued_ago)},
        {"due_in_seconds", seconds_of(job.due_in)},
        {"running_seconds", seconds_or_null(job.running_for)},
        {"ended_seconds_ago", seconds_or_null(job.ended_ago)},
        {"needs", job.depends_on},
    };
}

std::string shown_when(const job_info& job) {
    if (job.ended_ago) return "ended " + shown(*job.ended_ago) + " ago";
    if (job.running_for) return "runs for " + shown(*job.running_for);
    if (job.state == job_state::scheduled || job.state == job_state::retryable) {
        return "due in " + shown(job.due_in);
    }
    return "waits for " + shown(job.enqueued_ago);
}

void add_row(table& jobs, const job_info& job) {
    const bool is_bad = job.state == job_state::discarded;
    jobs.add({
        {std::to_string(job.id)},
        {printable(job.queue)},
        {printable(job.kind)},
        {name_of(job.state), is_bad ? style::red : style::plain},
        {std::to_string(job.attempts) + "/" + std::to_string(job.max_attempts)},
        {shown_when(job)},
        {printable(job.node_info)},
        {printable(summary_of(job.error))},
    });
}

// The progress, for another thread to show.
struct changed_so_far {
    std::atomic<std::size_t> found = 0, of = 0, done = 0;  // of: 0 while they are being counted
};

struct found_job {
    job_id id = 0;
    job_state state{};
};

std::vector<found_job> found_by(
    const database& db,
    job_filter filter,
    const std::vector<job_state>& states,
    changed_so_far& so_far
) {
    filter.limit = 100;  // each with its payload
    const auto first = filter.after;
    std::vector<found_job> all;
    for (const job_state state : states) {
        filter.state = state;
        filter.after = first;
        do {
            const job_page some = list_jobs(db, filter);
            for (const job_info& each : some) all.push_back({each.id, each.state});
            so_far.found = all.size();
            filter.after = some.next;
        } while (filter.after);
    }
    std::ranges::sort(all, {}, &found_job::id);
    return all;
}

// "3 jobs (1 retryable, 2 discarded)"
std::string count_of(const std::vector<found_job>& all) {
    std::map<job_state, std::size_t> states;
    for (const found_job& each : all) ++states[each.state];
    std::string said = std::to_string(all.size()) + " jobs";
    for (auto [at, begin] = std::pair{states.begin(), " ("}; at != states.end(); ++at) {
        said += begin + std::to_string(at->second) + " " + name_of(at->first);
        begin = ", ";
    }
    return said + (states.empty() ? "" : ")");
}

job_change change_one(const database& db, const found_job& one, const bulk_change& how) {
    const auto now = find_job(db, one.id);
    if (!now) return {name_of(retry_outcome::not_found), "", how.must_be_done, false};
    if (now->state != one.state) return {name_of(now->state), ""};
    return how.change(db, one.id);
}

}  // namespace

bool chosen_jobs::is_any() const {
    return !filter.queue.empty() || !state.empty() || !filter.kind.empty() ||
           !filter.ordering_key.empty() || !filter.error_text.empty() || !since.empty();
}

job_filter chosen_jobs::made() const {
    job_filter made = filter;
    if (!state.empty()) made.state = job_state_of(state);
    if (!since.empty()) made.since = parse_duration(since, "--since");
    made.order = is_oldest ? job_order::oldest_first : job_order::newest_first;
    if (after > 0) made.after = after;
    return made;
}

void add_choice(CLI::App& parser, chosen_jobs& chosen) {
    parser.add_option("--queue", chosen.filter.queue, "Only of this queue")->option_text("Q");
    parser.add_option("--state", chosen.state, "Only in this state")
        ->option_text("S")
        ->check(CLI::IsMember(std::vector<std::string>{
            "scheduled",
            "available",
            "blocked",
            "running",
            "retryable",
            "completed",
            "discarded",
            "cancelled"}));
    parser.add_option("--kind", chosen.filter.kind, "Only of this kind")->option_text("K");
    parser.add_option("--key", chosen.filter.ordering_key, "Only of this ordering key")
        ->option_text("O");
    parser.add_option("--error", chosen.filter.error_text, "Only with this text in their error")
        ->option_text("TEXT");
    parser.add_option("--since", chosen.since, "Ended, or enqueued if they have not, within D")
        ->option_text("D");
}

int list_chosen(const chosen_jobs& chosen, const global_options& options) {
    const auto read = [&](const std::stop_token&) {
        return list_jobs(open_database(options), chosen.made());
    };
    const auto page = with_progress<job_page>(
        read, [] { return std::string{"reading"}; }, options.is_json
    );
    table jobs{{"ID", "QUEUE", "KIND", "STATE", "ATTEMPT", "WHEN", "NODE", "ERROR"}};
    for (const job_info& each : page) {
        if (options.is_json) print_json(json_of_job(each));
        add_row(jobs, each);
    }
    if (options.is_json) return exit_status::done;
    jobs.print();
    if (page.next) print_line("more: --after " + std::to_string(*page.next));
    return exit_status::done;
}

int change_chosen(
    const chosen_jobs& chosen, const global_options& options, const bulk_change& how
) {
    changed_so_far so_far;
    const auto words = [&] {
        if (so_far.of == 0) return "found " + std::to_string(so_far.found) + " jobs";
        return how.verb + " " + std::to_string(so_far.done) + " of " + std::to_string(so_far.of);
    };
    job_filter filter = chosen.made();
    filter.order = job_order::oldest_first;
    const auto states = filter.state ? std::vector{*filter.state} : how.usual_states;
    std::vector<found_job> all;
    const auto work = [&](const std::stop_token&) {
        const database db = open_database(options);
        all = found_by(db, filter, states, so_far);
        std::size_t done = 0;
        if (!chosen.is_sure) return done;
        so_far.of = all.size();
        for (const found_job& each : all) {
            const job_change made = change_one(db, each, how);
            if (options.is_json) print_json({{"id", each.id}, {"outcome", made.word}});
            if (made.is_done) ++done;
            ++so_far.done;
        }
        return done;
    };
    const auto done = with_progress<std::size_t>(work, words, options.is_json);
    const bool is_failed = chosen.is_sure && how.must_be_done && done < all.size();
    const int status = is_failed ? exit_status::failed : exit_status::done;
    if (options.is_json) {
        if (!chosen.is_sure) print_json({{"jobs", all.size()}});
        return status;
    }
    if (!chosen.is_sure) {
        print_line(count_of(all) + "; with --yes they are " + how.verb);
        return exit_status::done;
    }
    std::string said = how.verb + " " + std::to_string(done) + " jobs";
    if (const auto rest = all.size() - done; rest > 0) {
        said += "; " + std::to_string(rest) + " stay as they are";
    }
    print_line(said);
    return status;
}

void print_job(const job_info& job, bool is_json) {
    json fields = json_of_job(job);
    fields["needed_by"] = job.needed_by;
    fields["traceparent"] = job.traceparent;
    fields["checkpoint"] = job.checkpoint;
    if (is_json) {
        fields["failures"] = json_of_failures(job);
        print_json(fields);
        return;
    }
    for (const auto& [name, value] : fields.items()) {
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        if (!value.empty() && !text.empty()) print_line(name + ": " + printable(text));
    }
    if (job.failures.empty()) return;
    table failures{{"FAILED ATTEMPT", "BEGAN", "TOOK", "WORKER", "ERROR"}};
    for (const job_failure& each : job.failures) {
        const bool has_begin = each.began_ago.count() > 0;
        const bool has_end = each.ended_ago.count() > 0 && each.ended_ago <= each.began_ago;
        failures.add({
            {std::to_string(each.attempt)},
            {has_begin ? shown(each.began_ago) + " ago" : ""},
            {has_end ? shown(each.began_ago - each.ended_ago) : ""},
            {printable(each.node_info)},
            {printable(summary_of(each.error))},
        });
    }
    print_line("");
    failures.print();
}

}  // namespace leasehold::cli
