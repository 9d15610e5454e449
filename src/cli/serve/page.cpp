#include "cli/serve/page.hpp"

#include "cli/output.hpp"
#include "cli/serve/html.hpp"
#include "cli/serve/page_parts.hpp"
#include "cli/show/described.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

std::string head_of(const std::string& title, bool refreshes) {
    std::string head =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
        title +
        "</title>\n<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n"
        "<link rel=\"stylesheet\" href=\"/style.css\">\n";
    if (refreshes) {
        head +=
            "<script src=\"/script.js\" defer></script>\n"
            "<noscript><meta http-equiv=\"refresh\" content=\"15\"></noscript>\n";
    }
    return head + "</head>\n<body>\n";
}

std::string tile(
    const std::string& target,
    const std::string& label,
    std::int64_t number,
    const std::string& note,
    const std::string& look = {}
) {
    return "<li><a href=\"#" + target + "\"" + (look.empty() ? "" : " class=\"" + look + "\"") +
           "><span class=\"label\">" + label + "</span> <span class=\"number\">" +
           html_number(number) + "</span> <span class=\"note\">" + note + "</span></a></li>\n";
}

std::string tiles(const page_view& view) {
    const snapshot& now = view.now;
    const auto of_runs = [&](run_state state) { return count_in(now.run_count, state); };
    const auto of_jobs = [&](job_state state) { return count_in(now.job_count, state); };
    const auto worst = worst_of_findings(now.findings);
    const std::int64_t bad_runs = of_runs(run_state::failed) + of_runs(run_state::abandoned);
    const std::int64_t discarded = of_jobs(job_state::discarded);
    const std::int64_t to_retry = of_jobs(job_state::retryable);
    std::int64_t runs = 0;
    for (const auto& [state, count] : now.run_count) runs += count;
    return "<ul class=\"tiles\">\n" +
           tile(
               "findings",
               "Doctor",
               worst.errors + worst.warnings,
               worst.errors > 0     ? "errors among them"
               : worst.warnings > 0 ? (worst.warnings == 1 ? "warning" : "warnings")
                                    : "findings",
               worst.errors > 0     ? "error"
               : worst.warnings > 0 ? "warning"
                                    : ""
           ) +
           tile(
               "locks",
               "Locks held",
               now.locks.counts.keys,
               html_number(now.locks.counts.waiters) + " waiting"
           ) +
           tile(
               "sessions",
               "Sessions",
               now.session_count.live,
               html_number(now.session_count.dead) + " dead",
               now.session_count.dead > 0 ? "warning" : ""
           ) +
           tile(
               "runs",
               "Runs",
               runs,
               bad_runs > 0 ? html_number(bad_runs) + " failed or abandoned" : "none failed",
               bad_runs > 0 ? "warning" : ""
           ) +
           tile(
               "queues",
               "Jobs available",
               of_jobs(job_state::available),
               html_number(of_jobs(job_state::running)) + " running"
           ) +
           tile(
               "failing",
               "Jobs given up",
               discarded,
               html_number(to_retry) + " to be retried",
               discarded > 0  ? "error"
               : to_retry > 0 ? "warning"
                              : ""
           ) +
           "</ul>\n";
}

std::string banner(const page_view& view) {
    const snapshot& now = view.now;
    if (!now.failure && !view.is_late) return {};
    std::string html = "<div class=\"banner error\" role=\"alert\"><strong>";
    html += now.failure ? "The database could not be read" : "The database has not answered yet";
    html += "</strong>";
    if (now.failure) html += ": " + html_text(*now.failure);
    html += "<br>";
    html += now.taken ? "What follows is as it was at " + html_time(*now.taken, shown(*now.taken)) +
                            ", " + shown(wall_now() - *now.taken) + " ago."
                      : std::string("Nothing has been read so far. This page goes on trying.");
    return html + "</div>\n";
}

std::string said_line(const page_view& view) {
    if (view.said.empty()) return {};
    return "<p class=\"banner said\" role=\"status\">" + html_text(view.said) + "</p>\n";
}

std::string header_of(const page_view& view) {
    std::string html = "<header>\n<h1><a href=\"/\">leasehold</a></h1>\n<p class=\"place\">" +
                       html_text(view.place);
    html += " <span class=\"quiet\">" + html_text(view.now.engine);
    if (view.now.taken) {
        html += ", as of " + html_time(*view.now.taken, shown(*view.now.taken).substr(11));
    }
    html += "</span></p>\n<p class=\"controls\">";
    html += "<a class=\"button\" id=\"refresh\" href=\"/\">Refresh</a>";
    if (view.rights.has_actions && view.rights.form_key.empty()) {
        html += " <a class=\"button\" href=\"/sign-in\">Sign in to act</a>";
    }
    if (!view.rights.form_key.empty()) {
        html += " " + button_form(view, "/sign-out", {}, "Sign out");
    }
    return html + "</p>\n</header>\n";
}

}  // namespace

std::string page_content(const page_view& view) {
    std::string html = "<div id=\"state\">\n" + header_of(view) + said_line(view) + banner(view) +
                       (view.now.taken ? tiles(view) : "") + "</div>\n";
    if (!view.now.taken) return view.now.examined ? html + findings_section(view) : html;
    return html + findings_section(view) + locks_section(view) + sessions_section(view) +
           runs_section(view) + queues_section(view) + failing_section(view);
}

std::string whole_page(const page_view& view) {
    return head_of("leasehold", true) +
           "<a class=\"skip\" href=\"#locks\">Skip to the locks</a>\n<main id=\"content\">\n" +
           page_content(view) +
           "</main>\n<footer><p><a href=\"/metrics\">Metrics</a> for Prometheus, "
           "<a href=\"/healthz\">health</a> for load balancers. Times are UTC; hover over one for "
           "its exact value.</p></footer>\n</body>\n</html>\n";
}

std::string sign_in_page(const std::string& said) {
    return head_of("Sign in - leasehold", false) +
           "<main class=\"narrow\">\n<h1><a href=\"/\">leasehold</a></h1>\n" +
           (said.empty() ? ""
                         : "<p class=\"banner error\" role=\"alert\">" + html_text(said) + "</p>") +
           "<form method=\"post\" action=\"/sign-in\" class=\"stacked\">\n"
           "<label for=\"token\">Token</label>\n"
           "<input id=\"token\" name=\"token\" type=\"password\" required "
           "autocomplete=\"current-password\">\n"
           "<p class=\"quiet\">The one of <code>--token-file</code>. With it this page asks "
           "holders to let go, frees keys by force, and retries and cancels jobs.</p>\n"
           "<button type=\"submit\">Sign in</button>\n</form>\n</main>\n</body>\n</html>\n";
}

std::string refusal_page(const std::string& title, const std::string& words) {
    return head_of(html_text(title) + " - leasehold", false) + "<main class=\"narrow\">\n<h1>" +
           html_text(title) + "</h1>\n<p>" + html_text(words) +
           "</p>\n<p><a href=\"/\">To the page</a></p>\n</main>\n</body>\n</html>\n";
}

std::string key_field(std::string_view key) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string field;
    for (const char each : key) {
        const auto byte = static_cast<unsigned char>(each);
        field += digits[byte / 16U];
        field += digits[byte % 16U];
    }
    return field;
}

std::string key_of_field(std::string_view field) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (field.size() % 2 != 0 || field.find_first_not_of(digits) != std::string_view::npos) {
        throw error(errc::invalid_argument, "that is no key of this page's");
    }
    std::string key;
    for (std::size_t at = 0; at < field.size(); at += 2) {
        key += static_cast<char>(digits.find(field[at]) * 16 + digits.find(field[at + 1]));
    }
    return key;
}

}  // namespace leasehold::cli
