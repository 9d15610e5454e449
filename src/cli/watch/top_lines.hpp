#pragma once
// The contents of `top`, as lines: of one pane, cut to the size of a terminal, or of all panes.
//
// Threads: safe.
#include <string>
#include <vector>

#include "cli/watch/screen.hpp"
#include "cli/watch/snapshot.hpp"

namespace leasehold::cli {

enum class pane { locks, sessions, queues, runs, failing, doctor };
inline constexpr int pane_count = 6;

struct top_view {
    pane shown = pane::locks;
    int scrolled = 0;  // rows that are above the screen
    std::string place{};
    bool is_late = false;
    bool is_coloured = true;
};

// At most as many lines as the screen has rows.
std::vector<std::string> top_lines(const snapshot& now, const top_view& view, screen_size size);
// The number of lines that it can be scrolled.
int max_scroll(const snapshot& now, const top_view& view, screen_size size);

// All panes, one below the other, at their natural widths.
std::vector<std::string> all_lines(const snapshot& now, const top_view& view);

// `text` cut to a number of a terminal's columns, with an ellipsis if it is longer.
std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace leasehold::cli
