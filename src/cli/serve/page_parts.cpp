#include "cli/serve/page_parts.hpp"

#include <algorithm>
#include <utility>

#include "cli/output.hpp"
#include "cli/serve/html.hpp"
#include "cli/show/described.hpp"
#include "cli/show/job_lines.hpp"

namespace leasehold::cli {
namespace {

std::string section(const std::string& id, const std::string& title, const std::string& body) {
    return "<section id=\"" + id + "\" aria-labelledby=\"" + id + "-title\">\n<h2 id=\"" + id +
           "-title\">" + title + "</h2>\n" + body + "</section>\n";
}

std::string nothing(const std::string& words) {
    return "<p class=\"empty\">" + words + "</p>\n";
}

std::string badge(const std::string& look, const std::string& word) {
    return "<span class=\"badge " + look + "\">" + word + "</span>";
}

std::string quiet(const std::string& html) {
    return "<span class=\"quiet\">" + html + "</span>";
}

std::string code(std::string_view text) {
    return "<code>" + html_text(text) + "</code>";
}

std::string finding_item(const finding& each) {
    const char* const look = name_of(each.severity);
    std::string html = "<li><p>" + badge(look, look) + " <strong>" + html_text(each.what) +
                       "</strong> " + code(each.name) + "</p>";
    if (!each.why.empty()) html += "<p class=\"quiet\">" + html_text(each.why) + "</p>";
    if (!each.remedy.empty()) html += "<p class=\"remedy\">" + html_text(each.remedy) + "</p>";
    return html + "</li>\n";
}

// ------------------------------------------------------------------------------------- locks

std::string filter_form(const lock_view& locks) {
    return "<form method=\"get\" action=\"/#locks\" class=\"filter\" role=\"search\">\n"
           "<label for=\"prefix\">Keys that begin with</label>\n"
           "<input id=\"prefix\" name=\"prefix\" type=\"text\" maxlength=\"255\" "
           "spellcheck=\"false\" autocapitalize=\"none\" autocomplete=\"off\" value=\"" +
           html_value(locks.filter.prefix) +
           "\">\n<button type=\"submit\">Filter</button>\n</form>\n";
}

std::string lock_buttons(const page_view& view, const lock_info& lock) {
    // Holders of a key that several hold cannot be asked to release it. A button frees them all at
    // once.
    const bool can_act = !view.rights.form_key.empty() && lock.is_held;
    if (!can_act || lock.kind != lock_kind::mutex) return {};
    const std::vector<std::pair<std::string, std::string>> fields{
        {"key", key_field(lock.key)}, {"token", std::to_string(lock.token.number)}};
    std::string html = "<div class=\"actions\">";
    if (lock.session) html += button_form(view, "/ask", fields, "Ask");
    html += "<details data-key=\"force-" + key_field(lock.key) +
            "\"><summary>Force&hellip;</summary><p>Takes the key from its holder, which may be at "
            "work. Its token is refused from then on; somebody else may get the key at once.</p>" +
            button_form(view, "/force", fields, "Free it by force", "danger") + "</details>";
    return html + "</div>";
}

std::string holder_html(const lock_info& lock) {
    if (!lock.is_held) return quiet("nobody");
    std::string html = html_text(lock.node_info);
    if (lock.kind != lock_kind::mutex) html += "<br>" + badge("plain", html_text(shown_kind(lock)));
    if (lock.holders > 1) html += " " + quiet("one of " + html_number(lock.holders));
    if (lock.reentrant_count > 1) {
        html += " " + quiet(html_number(lock.reentrant_count) + " levels");
    }
    if (!lock.metadata.empty()) {
        html += "<div class=\"quiet words\">" + html_long_text(lock.metadata) + "</div>";
    }
    return html;
}

std::string waiters_html(const lock_view& locks, const lock_info& lock) {
    if (lock.waiters == 0) return quiet("0");
    const auto found = locks.waiters.find(lock.key);
    std::string number = html_number(lock.waiters);
    if (found == locks.waiters.end() || found->second.empty()) return number;
    constexpr std::size_t max_listed = 20;
    std::string html = "<details data-key=\"waiters-" + key_field(lock.key) + "\"><summary>" +
                       number + "</summary><ol>";
    const std::size_t listed = std::min(max_listed, found->second.size());
    for (std::size_t at = 0; at < listed; ++at) {
        const waiter_info& each = found->second[at];
        html += "<li>" + html_text(each.node_info) + ", since " +
                html_ago(locks.taken, each.waits_for) + "</li>";
    }
    html += "</ol>";
    if (listed < found->second.size()) {
        html += "<p>and " + html_number(static_cast<std::int64_t>(found->second.size() - listed)) +
                " more</p>";
    }
    return html + "</details>";
}

std::string url_encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char each : text) {
        const auto byte = static_cast<unsigned char>(each);
        encoded += {'%', digits[byte / 16U], digits[byte % 16U]};
    }
    return encoded;
}

// The part of the keys that the page shows, and the link to the rest.
std::string lock_range(const lock_view& locks) {
    const bool is_first = !locks.filter.after;
    std::string html = "<p class=\"range\">";
    html += html_number(locks.counts.keys) + (locks.counts.keys == 1 ? " key is" : " keys are") +
            " held by " + html_number(locks.counts.holders) +
            (locks.counts.holders == 1 ? " holder" : " holders");
    if (!locks.filter.prefix.empty()) {
        html += " and " + std::string(locks.counts.keys == 1 ? "begins" : "begin") + " with " +
                code(locks.filter.prefix);
    }
    html += ".";
    if (locks.page.next || !is_first) {
        html += " Here are " + html_number(std::ssize(locks.page)) +
                (is_first ? ", the first by name." : ", further on by name.");
    }
    const std::string prefix = "/?prefix=" + url_encoded(locks.filter.prefix);
    if (!is_first) html += " <a href=\"" + prefix + "#locks\">From the first</a>";
    if (locks.page.next) {
        html += " <a rel=\"next\" href=\"" + prefix +
                "&amp;after=" + url_encoded(*locks.page.next) + "#locks\">The next ones</a>";
    }
    return html + "</p>\n";
}

// ------------------------------------------------------------------------------------- queues

std::string points_of(
    const std::vector<job_sample>& samples,
    std::int64_t first,
    std::int64_t highest,
    std::int64_t job_sample::*what
) {
    constexpr std::int64_t height = 24;
    std::string points, last;
    for (const job_sample& each : samples) {
        const std::int64_t across = (each.minute - first) * 2;
        const auto up = static_cast<double>(each.*what) / static_cast<double>(highest) * height;
        last = std::to_string(across) + "," +
               std::to_string(height + 2 - static_cast<std::int64_t>(up)) + " ";
        points += last;
    }
    return points + last;  // once more, so that a single one is a dot
}

html_cell number_cell(std::int64_t number, bool is_bad = false) {
    if (number == 0) return {quiet("0"), "number none"};
    return {html_number(number), is_bad ? "number bad" : "number"};
}

std::string limit_words(const queue_info& queue) {
    std::string words;
    if (queue.limits.max_running) {
        words += "at most " + std::to_string(*queue.limits.max_running) + " run";
    }
    if (queue.limits.max_starts) {
        words += (words.empty() ? "" : ", ") + std::to_string(*queue.limits.max_starts) +
                 " start per " + shown(queue.limits.starts_per);
    }
    return words.empty() ? "" : "<div class=\"quiet\">" + words + "</div>";
}

const char* look_of(run_state state) {
    switch (state) {
        case run_state::running:
            return "plain";
        case run_state::succeeded:
            return "good";
        case run_state::failed:
            return "error";
        case run_state::abandoned:
            return "warning";
    }
    return "plain";
}

std::string next_tick(const run_info& run) {
    if (run.overdue)
        return badge("warning", "overdue") + " " + html_time(*run.overdue, shown(*run.overdue));
    if (!run.next) return quiet("-");
    return html_time(*run.next, shown(*run.next));
}

std::string runs_table(const snapshot& now) {
    html_table table{
        "What ran last under each name; those that failed first",
        {"Task", "State", "For the tick", "Next tick", "Started", "Took", "Where", "Words"}};
    for (const run_info& each : now.runs) {
        std::string state = badge(look_of(each.state), name_of(each.state));
        if (each.exit_status && *each.exit_status != 0) {
            state += " status " + std::to_string(*each.exit_status);
        }
        table.add({
            {code(each.name), "key"},
            {state},
            {html_time(each.tick, shown(each.tick))},
            {next_tick(each)},
            {html_ago(*now.taken, each.started_ago)},
            {each.took ? shown(*each.took) : quiet("-")},
            {html_text(each.node_info)},
            {html_long_text(each.message), each.message.empty() ? "none" : "wide words"},
        });
    }
    return table.html();
}

std::string schedules_table(const snapshot& now) {
    html_table table{
        "Schedules of jobs, with their next tick",
        {"Schedule", "Fires", "Next tick", "Last tick", "Queue"}};
    for (const job_schedule_info& each : now.schedules) {
        std::string next = html_time(each.next, "in " + shown(each.next_in));
        if (each.is_paused) {
            next = badge("warning", "paused");
        } else if (each.overdue_for.count() > 0) {
            next = badge("warning", "overdue") + " for " +
                   html_time(each.next, shown(each.overdue_for));
        }
        table.add({
            {code(each.what.name), "key"},
            {each.what.every ? "every " + shown(*each.what.every)
                             : html_text(each.what.cron + " " + each.what.zone)},
            {next},
            {each.last ? html_time(*each.last, shown(*each.last)) : quiet("none yet")},
            {html_text(each.what.queue)},
        });
    }
    return table.html();
}

std::string cut_note(std::int64_t all, std::int64_t listed) {
    if (all <= listed) return {};
    return "<p class=\"range\">Here are " + html_number(listed) + " of " + html_number(all) +
           ".</p>\n";
}

}  // namespace

std::string button_form(
    const page_view& view,
    const std::string& action,
    const std::vector<std::pair<std::string, std::string>>& fields,
    const std::string& label,
    const std::string& look
) {
    std::string html = "<form method=\"post\" action=\"" + action +
                       "\" class=\"inline\"><input type=\"hidden\" name=\"form_key\" value=\"" +
                       html_value(view.rights.form_key) + "\">";
    for (const auto& [name, value] : fields) {
        html += "<input type=\"hidden\" name=\"" + name + "\" value=\"" + html_value(value) + "\">";
    }
    return html + "<button type=\"submit\"" + (look.empty() ? "" : " class=\"" + look + "\"") +
           ">" + label + "</button></form>";
}

finding_counts worst_of_findings(const std::vector<finding>& all) {
    finding_counts counts;
    for (const finding& each : all) {
        if (each.severity == severity::error) ++counts.errors;
        if (each.severity == severity::warning) ++counts.warnings;
    }
    return counts;
}

std::string findings_section(const page_view& view) {
    const snapshot& now = view.now;
    std::string bad, good;
    std::int64_t good_count = 0;
    for (const severity weight : {severity::error, severity::warning}) {
        for (const finding& each : now.findings) {
            if (each.severity == weight) bad += finding_item(each);
        }
    }
    for (const finding& each : now.findings) {
        if (each.severity != severity::good) continue;
        good += finding_item(each);
        ++good_count;
    }
    std::string body;
    if (!now.examined) body = nothing("The doctor has not looked yet.");
    if (now.examined && bad.empty()) body = nothing("The doctor has found nothing wrong.");
    if (!bad.empty()) body = "<ul class=\"findings\">\n" + bad + "</ul>\n";
    if (good_count > 0) {
        body += "<details data-key=\"good\"><summary>" + html_number(good_count) +
                " more to know</summary><ul class=\"findings\">\n" + good + "</ul></details>\n";
    }
    if (now.examined) {
        body += "<p class=\"range\">Looked at " +
                html_time(*now.examined, shown(*now.examined).substr(11)) + ".</p>\n";
    }
    return section("findings", "What the doctor found", body);
}

std::string locks_section(const page_view& view) {
    const lock_view& locks = view.locks;
    std::string body = filter_form(locks);
    if (!view.lock_failure.empty()) {
        return section(
            "locks",
            "Locks",
            body + "<p class=\"banner error\" role=\"alert\">" + html_text(view.lock_failure) +
                "</p>\n"
        );
    }
    body += lock_range(locks);
    html_table table{
        "Held keys by name", {"Key", "Holder", "Held since", "Left", "Token", "Waiters"}};
    for (const lock_info& each : locks.page) {
        const auto where_held = [&](std::string html) {
            return each.is_held ? std::move(html) : quiet("-");
        };
        table.add({
            {code(each.key) + lock_buttons(view, each), "key"},
            {holder_html(each), "wide"},
            {where_held(html_ago(locks.taken, each.held_for))},
            {where_held(html_time(locks.taken + each.remaining, shown(each.remaining)))},
            {html_number(each.token.number), "number"},
            {waiters_html(locks, each), each.waiters > 0 ? "number wide" : "number none"},
        });
    }
    body += locks.page.empty() ? nothing("Nothing is held.") : table.html();
    return section("locks", "Locks", body);
}

std::string sessions_section(const page_view& view) {
    const snapshot& now = view.now;
    html_table table{
        "Processes that hold or want something; the dead first, then the oldest",
        {"Process", "State", "Started", "Heartbeat", "Left", "Id"}};
    for (const session_info& each : now.sessions) {
        table.add({
            {html_text(each.node_info)},
            {each.is_live ? badge("good", "live") : badge("warning", "dead")},
            {html_ago(*now.taken, each.started_ago)},
            {html_ago(*now.taken, each.heartbeat_ago)},
            {html_time(*now.taken + each.remaining, shown(each.remaining))},
            {code(each.id.text()), "id"},
        });
    }
    const std::int64_t all = now.session_count.live + now.session_count.dead;
    return section(
        "sessions",
        "Sessions",
        now.sessions.empty() ? nothing("No process holds or wants anything.")
                             : cut_note(all, std::ssize(now.sessions)) + table.html()
    );
}

std::string runs_section(const page_view& view) {
    const snapshot& now = view.now;
    std::int64_t all = 0;
    for (const auto& [state, count] : now.run_count) all += count;
    std::string body = now.runs.empty() ? nothing("No task was run once for all.")
                                        : cut_note(all, std::ssize(now.runs)) + runs_table(now);
    if (!now.schedules.empty()) {
        body += cut_note(now.schedule_count, std::ssize(now.schedules)) + schedules_table(now);
    }
    return section("runs", "Runs and schedules", body);
}

std::string sparkline(const std::vector<job_sample>& samples, std::int64_t minute_now) {
    if (samples.empty()) return {};
    std::int64_t highest = 1;
    for (const job_sample& each : samples) {
        highest = std::max({highest, each.waiting, each.running});
    }
    const std::int64_t first = minute_now - static_cast<std::int64_t>(job_history::max_minutes) + 1;
    const std::string title = "the last hour: at most " + html_number(highest) +
                              " at a time; now " + html_number(samples.back().waiting) +
                              " waiting, " + html_number(samples.back().running) + " running";
    const auto line = [&](const char* look, std::int64_t job_sample::*what) {
        return "<polyline class=\"" + std::string(look) + "\" points=\"" +
               points_of(samples, first, highest, what) + "\"/>";
    };
    return "<svg class=\"spark\" viewBox=\"-1 0 122 28\" width=\"122\" height=\"28\" role=\"img\" "
           "aria-label=\"" +
           title + "\"><title>" + title + "</title><path class=\"base\" d=\"M0 26.5h118\"/>" +
           line("waiting", &job_sample::waiting) + line("running", &job_sample::running) + "</svg>";
}

std::string queues_section(const page_view& view) {
    const snapshot& now = view.now;
    using std::chrono::floor;
    using std::chrono::minutes;
    const std::int64_t minute = floor<minutes>(now.taken->time_since_epoch()).count();
    html_table table{
        "Jobs by state; the line is the last hour, as this process has seen it",
        {"Queue",
         "Last hour",
         "Available",
         "Oldest",
         "Running",
         "Scheduled",
         "To retry",
         "Blocked",
         "Completed",
         "Discarded",
         "Cancelled"}};
    for (const queue_info& each : now.queues) {
        const auto of = [&](job_state state) { return count_in(each.jobs, state); };
        table.add({
            {code(each.name) + (each.is_paused ? " " + badge("warning", "paused") : "") +
                 limit_words(each),
             "key"},
            {sparkline(now.history.of(each.name), minute)},
            number_cell(of(job_state::available)),
            {each.oldest_available
                 ? html_time(*now.taken - *each.oldest_available, shown(*each.oldest_available))
                 : quiet("-"),
             each.oldest_available ? "number" : "number none"},
            number_cell(of(job_state::running)),
            number_cell(of(job_state::scheduled)),
            number_cell(of(job_state::retryable), true),
            number_cell(of(job_state::blocked)),
            number_cell(of(job_state::completed)),
            number_cell(of(job_state::discarded), true),
            number_cell(of(job_state::cancelled)),
        });
    }
    return section(
        "queues",
        "Queues",
        now.queues.empty() ? nothing("There is no queue of jobs.")
                           : cut_note(now.queue_count, std::ssize(now.queues)) + table.html()
    );
}

std::string failing_section(const page_view& view) {
    const auto told = [](const std::string& error) {
        const std::string summary = summary_of(error);
        return error.starts_with(summary) ? error : summary + '\n' + error;
    };
    const snapshot& now = view.now;
    html_table table{
        "Jobs whose last attempt failed, by their numbers",
        {"Job", "State", "Queue", "Kind", "Attempts", "When", "Last error"}};
    for (const job_info& each : now.failing) {
        const bool is_over = each.state == job_state::discarded;
        std::string job = "#" + std::to_string(each.id);
        if (!view.rights.form_key.empty()) {
            const std::vector<std::pair<std::string, std::string>> fields{
                {"job", std::to_string(each.id)}};
            job += "<div class=\"actions\">" + button_form(view, "/retry", fields, "Retry");
            if (!is_over) job += button_form(view, "/cancel", fields, "Cancel");
            job += "</div>";
        }
        table.add({
            {job, "key"},
            {badge(is_over ? "error" : "warning", name_of(each.state))},
            {html_text(each.queue)},
            {html_text(each.kind)},
            {html_number(each.attempts) + " of " + html_number(each.max_attempts) +
             (each.rescues > 0 ? ", " + html_number(each.rescues) + " rescued" : "")},
            {is_over ? html_ago(*now.taken, each.ended_ago.value_or(std::chrono::microseconds{0}))
                     : html_in(*now.taken, each.due_in)},
            {html_long_text(told(each.error)), "wide words"},
        });
    }
    std::string body = now.failing.empty() ? nothing("No job is failing.") : table.html();
    if (now.has_more_failing) body += "<p class=\"range\">There are more of them.</p>\n";
    return section("failing", "Failing jobs", body);
}

}  // namespace leasehold::cli
