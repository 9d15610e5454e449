#pragma once
// The whole terminal, for a command that renews its output in place. It shows the alternate screen
// and reads each key as it is pressed; at its end the terminal is as it was before.
//
// Threads: one. It is made after a signal_inbox, so that a signal lets the command end by itself,
// and the destructor runs.
#include <termios.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/run/events.hpp"

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
    // Says whether standard input and output are terminals with these abilities.
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
    // These keep messages on standard error, which would appear in the middle of the screen.
    void put_errors_aside();
    void say_errors() noexcept;

    termios before_{};
    descriptor errors_;       // where they go
    descriptor errors_were_;  // where they went before
    descriptor resizes_;
};

}  // namespace leasehold::cli
