#include "cli/serve/html.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

// Marks each line by itself, without empty ones at the end.
std::string html_lines(std::string_view text) {
    std::string html;
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        if (!html.empty()) html += "<br>";
        html += html_text(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return html;
}

}  // namespace

std::string html_value(std::string_view given) {
    // Bytes that are not UTF-8, as an address may have them, are replaced.
    const auto text = nlohmann::json::parse(json_text(given)).get<std::string>();
    return with_replaced(
        text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}}
    );
}

std::string html_text(std::string_view text) {
    return html_value(printable(text));
}

std::string html_long_text(std::string_view text) {
    constexpr std::size_t shown_bytes = 160;
    if (text.size() <= shown_bytes) return html_lines(text);
    std::size_t cut = shown_bytes;
    const auto is_inside = [&](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80;
    };
    while (cut > 0 && is_inside(cut)) --cut;  // not in the middle of a character
    return "<details><summary>" + html_lines(text.substr(0, cut)) + "&hellip;</summary>" +
           html_lines(text.substr(cut)) + "</details>";
}

std::string html_time(wall_time when, std::string_view words) {
    const std::string exact = shown(when);
    return "<time datetime=\"" + exact + "\" title=\"" + exact + "\">" + std::string(words) +
           "</time>";
}

std::string html_ago(wall_time now, std::chrono::microseconds ago) {
    return html_time(now - ago, shown(ago) + " ago");
}

std::string html_in(wall_time now, std::chrono::microseconds ahead) {
    return html_time(now + ahead, "in " + shown(ahead));
}

std::string html_number(std::int64_t number) {
    std::string text = std::to_string(number);
    const std::size_t first = number < 0 ? 1 : 0;
    for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
    return text;
}

void html_table::add(const std::vector<html_cell>& row, std::string_view look) {
    rows_ += "<tr role=\"row\"";
    if (!look.empty()) rows_.append(" class=\"").append(look).append("\"");
    rows_ += ">";
    for (std::size_t at = 0; at < row.size(); ++at) {
        const auto& [html, cell_look] = row[at];
        // The first names the row.
        const char* const tag = at == 0 ? "th" : "td";
        rows_.append("<").append(tag).append(
            at == 0 ? " role=\"rowheader\" scope=\"row\"" : " role=\"cell\""
        );
        rows_ += " data-label=\"" + html_value(heading_.at(at)) + "\"";
        if (!cell_look.empty()) rows_ += " class=\"" + cell_look + "\"";
        rows_.append("><div>").append(html).append("</div></").append(tag).append(">");
    }
    rows_ += "</tr>\n";
}

std::string html_table::html() const {
    std::string html = "<table role=\"table\"><caption>" + caption_ +
                       "</caption>\n<thead role=\"rowgroup\"><tr role=\"row\">";
    for (const std::string& each : heading_) {
        html += "<th role=\"columnheader\" scope=\"col\">" + html_value(each) + "</th>";
    }
    return html + "</tr></thead>\n<tbody role=\"rowgroup\">\n" + rows_ + "</tbody></table>\n";
}

}  // namespace leasehold::cli
