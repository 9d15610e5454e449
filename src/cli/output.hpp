#pragma once
// The output for people and for programs. People: aligned tables, times as durations, one-line
// failures on standard error. Programs (--json): one object per line, on either stream.
#include <chrono>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::cli {

class failure;

// `text` on one line of a terminal. It shows control characters, bytes that are not UTF-8, and
// characters that turn the direction of writing around as escapes, so that no key can forge the row
// of another one. It doubles each backslash, so that no key looks like the escaped form of another
// one. It is not for the text of report(), which escapes by itself.
std::string printable(std::string_view text);

// The number of a terminal's columns that `text` takes.
std::size_t columns_of(std::string_view text);
// The bytes of the whole characters that fit into these columns; 0 if none fits.
std::size_t bytes_that_fit(std::string_view text, std::size_t columns);

// "3m12s", "28s", "120ms"; the two largest units.
std::string shown(std::chrono::microseconds length);

// "2026-03-29T01:00:00Z"
std::string shown(std::chrono::sys_time<std::chrono::microseconds> instant);

// Seconds with three decimals.
double seconds_of(std::chrono::microseconds length);

// Tells whether to use colours: at a terminal without NO_COLOR (no-color.org).
enum class style { plain, bold, red };
bool is_colourful(int descriptor);

// Adds the codes of its look, whether the reader shows colours or not.
std::string in_style(std::string text, style look);
// Adds them if standard output shows colours.
std::string styled(std::string text, style look);

struct cell {
    std::string text;
    style look = style::plain;
};

// Rows under a heading. An empty table prints nothing, or at a terminal its heading. A long table
// is printed page by page: later pages have columns at least as wide as the first page.
class table {
public:
    explicit table(std::vector<std::string> heading);
    void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
    // Prints the rows that were added since the last call.
    void print();
    // The rows that print() would print, as lines: no lines for an empty table.
    std::vector<std::string> take_lines();

private:
    std::vector<std::vector<cell>> rows_;  // the first is the heading, until that was printed
    std::vector<std::size_t> widths_;
    bool has_heading_ = true;
};

// On one line, whatever bytes its texts have.
std::string json_text(const nlohmann::json& object);

void print_json(const nlohmann::json& object);
void print_line(std::string_view line);
// Prints a result: the object for programs, the line for people.
void print_result(bool is_json, const nlohmann::json& object, std::string_view line);

// One behind the other, with `between` in between.
template <class Words>
std::string joined(const Words& words, std::string_view between) {
    std::string text;
    for (const auto& each : words) text.append(text.empty() ? "" : between).append(each);
    return text;
}

// Writes other text for some characters: for & &amp;, for instance.
std::string with_replaced(
    std::string_view text, std::initializer_list<std::pair<char, std::string_view>> by
);

// True when all of it is UTF-8.
bool is_text(std::string_view text);
// Replaces each byte that is not UTF-8 by the character U+FFFD.
std::string as_text(std::string_view text);

// One line on standard error about progress, for people and logs; in JSON {"event": name,
// "message": …} and the fields.
void tell(bool is_json, const char* name, const std::string& message, const nlohmann::json& fields);

// One line on standard error; in JSON {"error": name, "message": …}, and the fields of a failure.
void report(bool is_json, const char* name, const std::string& message);
void report(bool is_json, const failure& failed);

// Throws if standard output did not take everything: a full disk, a closed pipe.
void require_written();

}  // namespace leasehold::cli
