#pragma once
// What people and programs get to see. People: aligned tables, times as durations, one-line
// failures on standard error. Programs (--json): one object per line, on either stream.
#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::cli {

class failure;

// `text` on one line of a terminal: control characters, what is not UTF-8, and what turns the
// direction of writing around are shown as escapes, so that no key can forge another's row, and a
// backslash twice, so that none looks like another's escape. Not for what report() is given.
std::string printable(std::string_view text);

// How many columns of a terminal `text` takes.
std::size_t columns_of(std::string_view text);

// "3m12s", "28s", "120ms"; the two largest units.
std::string shown(std::chrono::microseconds length);

// "2026-03-29T01:00:00Z"
std::string shown(std::chrono::sys_time<std::chrono::microseconds> instant);

// Seconds with three decimals.
double seconds_of(std::chrono::microseconds length);

// Colours only where they are wanted: a terminal, and no NO_COLOR (no-color.org).
enum class style { plain, bold, red };
bool is_colourful(int descriptor);

// With the codes of its colour where standard output wants them.
std::string styled(std::string text, style look);

struct cell {
    std::string text;
    style look = style::plain;
};

// Rows under a heading. An empty table is nothing, or its heading at a terminal. One that is long
// is printed page by page: its columns are those of the first page, or wider.
class table {
public:
    explicit table(std::vector<std::string> heading);
    void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
    // What was added since the last time.
    void print();
    // The same, as lines: none of an empty table.
    std::vector<std::string> take_lines();

private:
    std::vector<std::vector<cell>> rows_;  // the first is the heading, until that was printed
    std::vector<std::size_t> widths_;
    bool has_heading_ = true;
};

void print_json(const nlohmann::json& object);
void print_line(std::string_view line);

// Whether all of it is UTF-8.
bool is_text(std::string_view text);
// With the mark of a character that is unknown for each byte that is not.
std::string as_text(std::string_view text);

// What goes on, for people and logs: one line on standard error; in JSON {"event": name, "message":
// …} and the fields.
void tell(bool is_json, const char* name, const std::string& message, const nlohmann::json& fields);

// One line on standard error; in JSON {"error": name, "message": …}, and the fields of a failure.
void report(bool is_json, const char* name, const std::string& message);
void report(bool is_json, const failure& failed);

// Throws where standard output did not take everything: a full disk, a closed pipe.
void require_written();

}  // namespace leasehold::cli
