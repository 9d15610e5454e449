#include "cli/watch/top_lines.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "cli/output.hpp"
#include "cli/show/described.hpp"
#include "cli/show/job_lines.hpp"

namespace leasehold::cli {
namespace {

constexpr const char* ellipsis = "\xe2\x80\xa6";
constexpr std::size_t gap = 2;
constexpr int lines_above = 4;  // who and where, the numbers, the panes, a heading
constexpr int lines_below = 1;

struct pane_table {
    std::vector<std::string> heading{};
    std::vector<std::vector<cell>> rows{};
    std::string note{};  // says that rows are left out
};

std::string styled(const top_view& view, const std::string& text, style look) {
    return view.is_coloured ? in_style(text, look) : text;
}

std::string cut_note_of(std::int64_t all, std::size_t listed) {
    if (all <= static_cast<std::int64_t>(listed)) return {};
    return std::to_string(listed) + " of " + std::to_string(all);
}

pane_table locks_pane(const snapshot& now) {
    pane_table made{{"KEY", "HOLDER", "SINCE", "LEFT", "TOKEN", "WAITERS"}};
    for (const lock_info& each : now.locks.page) {
        std::string holder = each.is_held ? printable(each.node_info) : "-";
        if (each.kind != lock_kind::mutex) holder += " (" + shown_kind(each) + ")";
        made.rows.push_back({
            {printable(each.key)},
            {holder},
            {each.is_held ? shown(each.held_for) : "-"},
            {each.is_held ? shown(each.remaining) : "-"},
            {std::to_string(each.token.number)},
            {std::to_string(each.waiters)},
        });
    }
    made.note = cut_note_of(now.locks.counts.holders, made.rows.size());
    return made;
}

pane_table sessions_pane(const snapshot& now) {
    pane_table made{{"PROCESS", "STATE", "STARTED", "HEARTBEAT", "LEFT"}};
    for (const session_info& each : now.sessions) {
        made.rows.push_back({
            {printable(each.node_info)},
            {each.is_live ? "live" : "dead", each.is_live ? style::plain : style::red},
            {shown(each.started_ago) + " ago"},
            {shown(each.heartbeat_ago) + " ago"},
            {shown(each.remaining)},
        });
    }
    made.note = cut_note_of(now.session_count.live + now.session_count.dead, made.rows.size());
    return made;
}

pane_table queues_pane(const snapshot& now) {
    pane_table made{
        {"QUEUE", "AVAIL", "OLDEST", "RUN", "SCHED", "RETRY", "BLOCK", "DONE", "DISC", "CANC"}};
    for (const queue_info& each : now.queues) {
        const auto count = [&](job_state state, bool is_bad = false) -> cell {
            const std::int64_t number = count_in(each.jobs, state);
            return {std::to_string(number), is_bad && number > 0 ? style::red : style::plain};
        };
        made.rows.push_back({
            {printable(each.name) + (each.is_paused ? " (paused)" : "")},
            count(job_state::available),
            {each.oldest_available ? shown(*each.oldest_available) : "-"},
            count(job_state::running),
            count(job_state::scheduled),
            count(job_state::retryable),
            count(job_state::blocked),
            count(job_state::completed),
            count(job_state::discarded, true),
            count(job_state::cancelled),
        });
    }
    made.note = cut_note_of(now.queue_count, made.rows.size());
    return made;
}

pane_table runs_pane(const snapshot& now) {
    pane_table made{{"TASK", "STATE", "TICK", "STARTED", "TOOK", "NEXT", "WORDS"}};
    for (const run_info& each : now.runs) {
        const bool is_bad = each.state == run_state::failed || each.state == run_state::abandoned;
        made.rows.push_back({
            {printable(each.name)},
            {name_of(each.state), is_bad ? style::red : style::plain},
            {shown(each.tick)},
            {shown(each.started_ago) + " ago"},
            {each.took ? shown(*each.took) : "-"},
            each.overdue ? cell{"overdue", style::red} : cell{each.next ? shown(*each.next) : "-"},
            {printable(each.message)},
        });
    }
    for (const job_schedule_info& each : now.schedules) {
        const bool is_overdue = each.overdue_for.count() > 0;
        made.rows.push_back({
            {printable(each.what.name)},
            {each.is_paused ? "paused"
             : is_overdue   ? "overdue"
                            : "scheduled",
             is_overdue ? style::red : style::plain},
            {shown(each.next)},
            {each.is_paused ? "-"
             : is_overdue   ? "for " + shown(each.overdue_for)
                            : "in " + shown(each.next_in)},
            {"-"},
            {"-"},
            {"for queue " + printable(each.what.queue)},
        });
    }
    std::int64_t all = now.schedule_count;
    for (const auto& [state, count] : now.run_count) all += count;
    made.note = cut_note_of(all, made.rows.size());
    return made;
}

pane_table failing_pane(const snapshot& now) {
    pane_table made{{"JOB", "STATE", "QUEUE", "KIND", "ATTEMPTS", "ERROR"}};
    for (const job_info& each : now.failing) {
        const bool is_over = each.state == job_state::discarded;
        made.rows.push_back({
            {std::to_string(each.id)},
            {name_of(each.state), is_over ? style::red : style::plain},
            {printable(each.queue)},
            {printable(each.kind)},
            {std::to_string(each.attempts) + "/" + std::to_string(each.max_attempts)},
            {printable(summary_of(each.error))},
        });
    }
    if (now.has_more_failing) made.note = "and more";
    return made;
}

pane_table doctor_pane(const snapshot& now) {
    pane_table made{{"FINDING", "", "WHAT"}};
    for (const severity weight : {severity::error, severity::warning, severity::good}) {
        for (const finding& each : now.findings) {
            if (each.severity != weight) continue;
            const bool is_bad = weight == severity::error;
            made.rows.push_back({
                {printable(each.name), is_bad ? style::red : style::plain},
                {name_of(weight)},
                {printable(each.what)},
            });
            if (!each.remedy.empty()) made.rows.push_back({{""}, {""}, {printable(each.remedy)}});
        }
    }
    return made;
}

struct pane_facts {
    const char* name;
    pane_table (*whole_table)(const snapshot& now);
};

const pane_facts& facts_of(pane which) {
    static constexpr std::array<pane_facts, pane_count> all{{
        {"locks", locks_pane},
        {"sessions", sessions_pane},
        {"queues", queues_pane},
        {"runs", runs_pane},
        {"failing", failing_pane},
        {"doctor", doctor_pane},
    }};
    return all.at(static_cast<std::size_t>(which));
}

// The natural widths. If their sum is too large, the widest columns are narrowed first.
std::vector<std::size_t> widths_of(const pane_table& table, std::size_t columns) {
    std::vector<std::size_t> widths;
    for (const std::string& each : table.heading) widths.push_back(columns_of(each));
    for (const auto& row : table.rows) {
        for (std::size_t at = 0; at < row.size(); ++at) {
            widths[at] = std::max(widths[at], columns_of(row[at].text));
        }
    }
    if (columns == 0) return widths;
    const std::size_t gaps = gap * (widths.size() - 1);
    const std::size_t room = columns > gaps ? columns - gaps : 1;
    while (std::accumulate(widths.begin(), widths.end(), std::size_t{0}) > room) {
        const auto widest = std::max_element(widths.begin(), widths.end());
        if (*widest <= 1) break;
        --*widest;
    }
    return widths;
}

// Breaks between words if it can.
std::vector<std::string> in_lines(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines;
    while (columns_of(text) > columns) {
        std::size_t end = std::max<std::size_t>(bytes_that_fit(text, columns), 1);
        if (text[end] != ' ') {
            const auto space = text.substr(0, end).rfind(' ');
            if (space != std::string_view::npos && space > 0) end = space;
        }
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
        if (text.starts_with(' ')) text.remove_prefix(1);
    }
    lines.emplace_back(text);
    return lines;
}

// The doctor's words are shown whole: its last column is in as many rows as it takes.
pane_table table_of(const snapshot& now, pane shown_pane, std::size_t columns) {
    pane_table table = facts_of(shown_pane).whole_table(now);
    if (shown_pane != pane::doctor || columns == 0) return table;
    const std::size_t room = widths_of(table, columns).back();
    pane_table made{table.heading, {}, table.note};
    for (auto& row : table.rows) {
        for (std::string& line : in_lines(row.back().text, room)) {
            row.back().text = std::move(line);
            made.rows.push_back(row);
            for (cell& each : row) each.text.clear();
        }
    }
    return made;
}

std::string line_of(
    const std::vector<cell>& row, const std::vector<std::size_t>& widths, const top_view& view
) {
    std::string line;
    for (std::size_t at = 0; at < row.size(); ++at) {
        const std::string text = cut_to(row[at].text, widths[at]);
        const std::size_t rest = widths[at] - std::min(widths[at], columns_of(text));
        const bool is_last = at + 1 == row.size();
        line += styled(view, text, row[at].look);
        if (!is_last) line.append(rest + gap, ' ');
    }
    return line;
}

std::vector<cell> heading_of(const pane_table& table) {
    std::vector<cell> heading;
    for (const std::string& each : table.heading) heading.push_back({each, style::bold});
    return heading;
}

std::string numbers_of(const snapshot& now) {
    const auto jobs = [&](job_state state) {
        return std::to_string(count_in(now.job_count, state));
    };
    const auto wrong = std::ranges::count_if(now.findings, [](const finding& each) {
        return each.severity != severity::good;
    });
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    return "keys " + number(now.locks.counts.keys) + ", " + number(now.locks.counts.waiters) +
           " waiting | sessions " + number(now.session_count.live) + ", " +
           number(now.session_count.dead) + " dead | jobs " + jobs(job_state::available) + ", " +
           jobs(job_state::running) + " run, " + jobs(job_state::discarded) +
           " given up | doctor " + number(wrong);
}

std::string title_of(const snapshot& now, const top_view& view) {
    std::string title = "leasehold  " + printable(view.place);
    if (now.taken) title += "  " + shown(*now.taken).substr(11);
    return title;
}

std::string panes_line(const top_view& view) {
    std::string line;
    for (int at = 0; at < pane_count; ++at) {
        const auto each = static_cast<pane>(at);
        const std::string label = " " + std::to_string(at + 1) + " " + facts_of(each).name + " ";
        const bool is_shown = each == view.shown;
        if (is_shown && view.is_coloured) {
            line += "\033[7m" + label + "\033[0m";
        } else {
            line += is_shown ? "[" + label.substr(1, label.size() - 2) + "]" : label;
        }
    }
    return line;
}

std::string trouble_of(const snapshot& now, const top_view& view) {
    if (now.failure) return "not read: " + printable(*now.failure);
    if (view.is_late) return "the database has not answered yet";
    return {};
}

std::size_t columns_in(screen_size size) {
    return static_cast<std::size_t>(std::max(size.columns, 1));
}

int rows_that_fit(screen_size size) {
    return std::max(size.rows - lines_above - lines_below, 1);
}

}  // namespace

std::string cut_to(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) return std::string(text);
    if (columns == 0) return {};
    return std::string(text.substr(0, bytes_that_fit(text, columns - 1))) + ellipsis;
}

int max_scroll(const snapshot& now, const top_view& view, screen_size size) {
    const auto rows = static_cast<int>(table_of(now, view.shown, columns_in(size)).rows.size());
    return std::max(rows - rows_that_fit(size), 0);
}

std::vector<std::string> top_lines(const snapshot& now, const top_view& view, screen_size size) {
    const std::size_t columns = columns_in(size);
    const pane_table table = table_of(now, view.shown, columns);
    const auto widths = widths_of(table, columns);
    std::vector<std::string> lines{
        styled(view, cut_to(title_of(now, view), columns), style::bold),
        cut_to(numbers_of(now), columns),
        panes_line(view),
        line_of(heading_of(table), widths, view),
    };
    const int fits = rows_that_fit(size);
    const int first = std::clamp(view.scrolled, 0, max_scroll(now, view, size));
    const int end = std::min(first + fits, static_cast<int>(table.rows.size()));
    for (int at = first; at < end; ++at) {
        lines.push_back(line_of(table.rows[static_cast<std::size_t>(at)], widths, view));
    }
    if (table.rows.empty()) lines.emplace_back(now.taken ? "nothing" : "");
    while (static_cast<int>(lines.size()) < size.rows - lines_below) lines.emplace_back();
    const std::string trouble = trouble_of(now, view);
    std::string below = "q quit  tab or 1-6 pane  arrows scroll";
    if (!table.note.empty()) below += "  " + table.note;
    if (static_cast<int>(table.rows.size()) > fits) {
        below += "  rows " + std::to_string(first + 1) + "-" + std::to_string(end);
    }
    lines.push_back(
        trouble.empty() ? cut_to(below, columns)
                        : styled(view, cut_to(trouble, columns), style::red)
    );
    const auto most = static_cast<std::size_t>(std::max(size.rows, 1));
    if (lines.size() > most) lines.resize(most);
    return lines;
}

std::vector<std::string> all_lines(const snapshot& now, const top_view& view) {
    std::vector<std::string> lines{title_of(now, view), numbers_of(now)};
    const std::string trouble = trouble_of(now, view);
    if (!trouble.empty()) lines.push_back(trouble);
    for (int at = 0; at < pane_count; ++at) {
        const auto each = static_cast<pane>(at);
        const auto& [name, whole_table] = facts_of(each);
        const pane_table table = whole_table(now);
        std::string title = name;
        if (table.rows.empty()) title += ": nothing";
        if (!table.note.empty()) title += ": " + table.note;
        lines.emplace_back();
        lines.push_back(styled(view, title, style::bold));
        if (table.rows.empty()) continue;
        const auto widths = widths_of(table, 0);
        lines.push_back(line_of(heading_of(table), widths, view));
        for (const auto& row : table.rows) lines.push_back(line_of(row, widths, view));
    }
    return lines;
}

}  // namespace leasehold::cli
