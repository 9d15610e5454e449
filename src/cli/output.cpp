#include "cli/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cwchar>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/exit_status.hpp"

namespace leasehold::cli {
namespace {

struct character {
    char32_t code = 0;
    std::size_t bytes = 0;  // 0: not UTF-8
};

character first_of(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
    char32_t code = lead & (0x7fU >> bytes);
    for (std::size_t at = 1; at < bytes; ++at) {
        if ((byte(at) & 0xc0U) != 0x80) return {};
        code = (code << 6U) | (byte(at) & 0x3fU);
    }
    constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < least[bytes] || code > 0x10ffff || is_surrogate) return {};
    return {code, bytes};
}

bool is_harmless(char32_t code) {
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    // Line separators, marks and overrides of direction, and characters of no width.
    const bool is_trick = (code >= 0x200b && code <= 0x200f) ||
                          (code >= 0x2028 && code <= 0x202e) ||
                          (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
    return !is_control && !is_trick;
}

std::string escaped(unsigned char byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (byte == '\n') return "\\n";
    if (byte == '\t') return "\\t";
    return {'\\', 'x', digits[byte / 16U], digits[byte % 16U]};
}

// Writes the line in one piece, so that lines of several processes do not mix.
void say_at_once(bool is_json, nlohmann::json object, const std::string& message) {
    std::string line;
    if (is_json) {
        object["message"] = message;
        line = json_text(object);
    } else {
        line = "leasehold: " + printable(message);
    }
    std::cout.flush();
    line += '\n';
    std::cerr << line << std::flush;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const character next = first_of(text);
        const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
        if (next.code == U'\\') {
            line += "\\\\";
        } else if (next.bytes > 0 && is_harmless(next.code)) {
            line.append(text.substr(0, bytes));
        } else {
            for (const char each : text.substr(0, bytes)) {
                line += escaped(static_cast<unsigned char>(each));
            }
        }
        text.remove_prefix(bytes);
    }
    return line;
}

std::string with_replaced(
    std::string_view text, std::initializer_list<std::pair<char, std::string_view>> by
) {
    std::string whole;
    for (const char each : text) {
        const auto* const found =
            std::ranges::find(by, each, [](auto& pair) { return pair.first; });
        whole += found == by.end() ? std::string_view{&each, 1} : found->second;
    }
    return whole;
}

bool is_text(std::string_view text) {
    while (!text.empty()) {
        const character next = first_of(text);
        if (next.bytes == 0) return false;
        text.remove_prefix(next.bytes);
    }
    return true;
}

std::string as_text(std::string_view text) {
    std::string whole;
    while (!text.empty()) {
        const std::size_t bytes = first_of(text).bytes;
        whole += bytes > 0 ? text.substr(0, bytes) : std::string_view{"\xef\xbf\xbd"};
        text.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    return whole;
}

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const character next = first_of(text);
        const int width = next.bytes > 0 ? wcwidth(static_cast<wchar_t>(next.code)) : 1;
        columns += static_cast<std::size_t>(width < 0 ? 1 : width);
        text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
    }
    return columns;
}

std::size_t bytes_that_fit(std::string_view text, std::size_t columns) {
    std::size_t bytes = 0, used = 0;
    while (bytes < text.size()) {
        std::size_t next = bytes + 1;
        while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0U) == 0x80) {
            ++next;
        }
        used += columns_of(text.substr(bytes, next - bytes));
        if (used > columns) break;
        bytes = next;
    }
    return bytes;
}

std::string shown(std::chrono::microseconds length) {
    using namespace std::chrono;
    const bool is_negative = length < microseconds{0};
    const std::int64_t all = std::abs(duration_cast<milliseconds>(length).count());
    const std::string sign = is_negative && all > 0 ? "-" : "";
    if (all < 1000) return sign + std::to_string(all) + "ms";
    const auto days = all / 86'400'000;
    const auto hours = all / 3'600'000 % 24;
    const auto minutes = all / 60'000 % 60;
    const auto seconds = all / 1000 % 60;
    const auto two = [&](std::int64_t large, const char* unit, std::int64_t small, const char* next
                     ) {
        return sign + std::to_string(large) + unit +
               (small > 0 ? std::to_string(small) + next : "");
    };
    if (days > 0) return two(days, "d", hours, "h");
    if (hours > 0) return two(hours, "h", minutes, "m");
    if (minutes > 0) return two(minutes, "m", seconds, "s");
    return sign + std::to_string(seconds) + "s";
}

std::string shown(std::chrono::sys_time<std::chrono::microseconds> instant) {
    using namespace std::chrono;
    const auto day = floor<days>(instant);
    const year_month_day date{day};
    const auto of_day = duration_cast<seconds>(instant - day).count();
    char text[48];
    std::snprintf(
        text,
        sizeof text,
        "%04d-%02u-%02uT%02d:%02d:%02dZ",
        int{date.year()},
        unsigned{date.month()},
        unsigned{date.day()},
        static_cast<int>(of_day / 3600),
        static_cast<int>(of_day / 60 % 60),
        static_cast<int>(of_day % 60)
    );
    return text;
}

double seconds_of(std::chrono::microseconds length) {
    return std::round(static_cast<double>(length.count()) / 1000.0) / 1000.0;
}

bool is_colourful(int descriptor) {
    const char* const refusal = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    const bool is_dumb = !terminal || std::string_view{terminal} == "dumb";
    return isatty(descriptor) == 1 && !(refusal && *refusal) && !is_dumb;
}

std::string in_style(std::string text, style look) {
    if (look == style::plain) return text;
    return (look == style::bold ? "\033[1m" : "\033[31m") + std::move(text) + "\033[0m";
}

std::string styled(std::string text, style look) {
    return in_style(std::move(text), is_colourful(STDOUT_FILENO) ? look : style::plain);
}

table::table(std::vector<std::string> heading) : widths_(heading.size(), 0) {
    std::vector<cell> first;
    first.reserve(heading.size());
    for (std::string& each : heading) first.push_back({std::move(each), style::bold});
    rows_.push_back(std::move(first));
}

void table::print() {
    for (const std::string& line : take_lines()) print_line(line);
}

std::vector<std::string> table::take_lines() {
    const bool is_empty = has_heading_ && rows_.size() == 1;
    if (is_empty && isatty(STDOUT_FILENO) != 1) return {};
    const bool is_coloured = is_colourful(STDOUT_FILENO);
    for (const auto& row : rows_) {
        for (std::size_t at = 0; at < row.size(); ++at) {
            widths_[at] = std::max(widths_[at], columns_of(row[at].text));
        }
    }
    std::vector<std::string> lines;
    lines.reserve(rows_.size());
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t at = 0; at < row.size(); ++at) {
            line += in_style(row[at].text, is_coloured ? row[at].look : style::plain);
            const bool is_last = at + 1 == row.size();
            if (!is_last) line.append(widths_[at] - columns_of(row[at].text) + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        lines.push_back(std::move(line));
    }
    rows_.clear();
    has_heading_ = false;
    return lines;
}

std::string json_text(const nlohmann::json& object) {
    return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_json(const nlohmann::json& object) {
    print_line(json_text(object));
}

void print_line(std::string_view line) {
    std::cout << line << '\n';
}

void print_result(bool is_json, const nlohmann::json& object, std::string_view line) {
    is_json ? print_json(object) : print_line(line);
}

void tell(
    bool is_json, const char* name, const std::string& message, const nlohmann::json& fields
) {
    nlohmann::json object = fields;
    object["event"] = name;
    say_at_once(is_json, std::move(object), message);
}

void report(bool is_json, const char* name, const std::string& message) {
    report(is_json, failure{exit_status::failed, name, message});
}

void report(bool is_json, const failure& failed) {
    nlohmann::json object = is_json ? failed.fields() : nlohmann::json::object();
    object["error"] = failed.name();
    say_at_once(is_json, std::move(object), without_passwords(failed.what()));
}

void require_written() {
    std::cout.flush();
    if (std::cout) return;
    throw failure{
        exit_status::failed,
        "output_failed",
        "standard output takes no more: is the disk full, or the pipe closed?"};
}

}  // namespace leasehold::cli
