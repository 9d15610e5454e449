#pragma once
// Converts values to HTML. The texts of keys, processes and jobs can be anything: they may look
// like HTML, or reverse the direction of writing.
//
// Threads: safe.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cli/watch/snapshot.hpp"

namespace leasehold::cli {

// The text as it is, for the value of an attribute that comes back: of a form's field.
std::string html_value(std::string_view text);
// The text for people, between tags or in a title: on one line, as printable() has it.
std::string html_text(std::string_view text);
// The text for people in several lines. The part beyond the limit is in an element that a reader
// can open.
std::string html_long_text(std::string_view text);

// "3m12s ago", or "in 3m12s", with the exact time, too.
std::string html_ago(wall_time now, std::chrono::microseconds ago);
std::string html_in(wall_time now, std::chrono::microseconds ahead);
std::string html_time(wall_time when, std::string_view words);

// "1,234,567"
std::string html_number(std::int64_t number);

struct html_cell {
    std::string html{};
    std::string look{};  // a class: number, bad, key
};

// Rows under a heading; on a narrow screen each is a card, in which a cell has its heading.
class html_table {
public:
    html_table(std::string caption, std::vector<std::string> heading)
        : caption_(std::move(caption)), heading_(std::move(heading)) {}
    void add(const std::vector<html_cell>& row, std::string_view look = {});
    std::string html() const;

private:
    std::string caption_;
    std::vector<std::string> heading_;
    std::string rows_;
};

}  // namespace leasehold::cli
