#pragma once
// The whole terminal, while a command shows something in place: another screen than the one with
// the shell's lines, keys as they are pressed, and both as they were when it ends.
//
// Threads: one. Made behind a signal_inbox, so that signals end the command by way of its end.
#include <termios.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/events.hpp"

namespace leasehold::cli {

enum class pressed {
    nothing,
    quit,
    next_pane,
    previous_pane,
    up,
    down,
    page_up,
    page_down,
    first,
    last,
    redraw,
    digit,
};

struct key_press {
    pressed what = pressed::nothing;
    int digit = 0;
};

// The keys that these bytes of a terminal mean, without unknown ones.
std::vector<key_press> keys_in(std::string_view bytes);

struct screen_size {
    int columns = 80;
    int rows = 24;
};

class screen {
public:
    // Standard input and output; both are terminals that can do it.
    static bool is_possible();

    screen();
    // Repeats the messages that came on standard error meanwhile.
    ~screen();
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;

    // Becomes readable at each key. Becomes readable when the size has changed.
    int keys() const noexcept;
    int resizes() const noexcept { return resizes_.number(); }
    std::vector<key_press> read_keys();
    void hush_resizes();

    screen_size size() const;
    // Lines from the top, each at most as wide as the screen.
    void draw(const std::vector<std::string>& lines) const;

private:
    // A message on standard error would be written over the picture.
    void put_errors_aside();
    void say_errors() noexcept;

    termios before_{};
    descriptor errors_;       // where they go
    descriptor errors_were_;  // where they went before
    descriptor resizes_;
};

}  // namespace leasehold::cli
