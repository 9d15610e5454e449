#include "cli/watch/screen.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace leasehold::cli {
namespace {

void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
        if (written <= 0) return;  // the terminal is gone; SIGHUP says so
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

struct sequence {
    std::string_view bytes;
    pressed what;
};

// A longer sequence stands before one that it begins with.
constexpr std::array sequences{
    sequence{"\033[5~", pressed::page_up},
    sequence{"\033[6~", pressed::page_down},
    sequence{"\033[1~", pressed::first},
    sequence{"\033[4~", pressed::last},
    sequence{"\033[A", pressed::up},
    sequence{"\033OA", pressed::up},
    sequence{"\033[B", pressed::down},
    sequence{"\033OB", pressed::down},
    sequence{"\033[C", pressed::next_pane},
    sequence{"\033OC", pressed::next_pane},
    sequence{"\033[D", pressed::previous_pane},
    sequence{"\033OD", pressed::previous_pane},
    sequence{"\033[Z", pressed::previous_pane},
    sequence{"\033[H", pressed::first},
    sequence{"\033[F", pressed::last},
    sequence{"\t", pressed::next_pane},
    sequence{"k", pressed::up},
    sequence{"j", pressed::down},
    sequence{" ", pressed::page_down},
    sequence{"g", pressed::first},
    sequence{"G", pressed::last},
    sequence{"q", pressed::quit},
    sequence{"Q", pressed::quit},
    sequence{"\003", pressed::quit},
    sequence{"\004", pressed::quit},
    sequence{"\014", pressed::redraw},
    sequence{"r", pressed::redraw},
};

// The number of bytes at the beginning that form one unknown sequence.
std::size_t unknown_length(std::string_view bytes) {
    if (bytes.front() != '\033' || bytes.size() < 2 || bytes[1] != '[') return 1;
    for (std::size_t at = 2; at < bytes.size(); ++at) {
        if (bytes[at] >= 0x40 && bytes[at] <= 0x7e) return at + 1;
    }
    return bytes.size();
}

}  // namespace

std::vector<key_press> keys_in(std::string_view bytes) {
    std::vector<key_press> keys;
    while (!bytes.empty()) {
        if (bytes.front() >= '1' && bytes.front() <= '9') {
            keys.push_back({pressed::digit, bytes.front() - '0'});
            bytes.remove_prefix(1);
            continue;
        }
        std::size_t length = unknown_length(bytes);
        for (const sequence& each : sequences) {
            if (!bytes.starts_with(each.bytes)) continue;
            keys.push_back({each.what, 0});
            length = each.bytes.size();
            break;
        }
        bytes.remove_prefix(length);
    }
    return keys;
}

bool screen::is_possible() {
    const char* const kind = std::getenv("TERM");
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && kind &&
           std::string_view{kind} != "dumb" && *kind != '\0';
}

screen::screen() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) fail("tcgetattr");
    sigset_t resized;
    sigemptyset(&resized);
    sigaddset(&resized, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &resized, nullptr);
    resizes_ = descriptor{signalfd(-1, &resized, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (resizes_.number() < 0) fail("signalfd");
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0) fail("tcsetattr");
    put_errors_aside();
    // Switches to the alternate screen, hides the cursor, and turns the wrapping of long lines off.
    write_all("\033[?1049h\033[?25l\033[?7l\033[2J");
}

screen::~screen() {
    write_all("\033[?7h\033[?25h\033[?1049l");
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    say_errors();
}

void screen::put_errors_aside() {
    if (isatty(STDERR_FILENO) != 1) return;
    errors_ = descriptor{memfd_create("errors", MFD_CLOEXEC)};
    // A container's filter may refuse that.
    if (errors_.number() < 0) {
        errors_ = descriptor{::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    }
    errors_were_ = descriptor{fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
    if (errors_.number() < 0 || errors_were_.number() < 0) fail("open");
    dup2(errors_.number(), STDERR_FILENO);
}

void screen::say_errors() noexcept {
    if (errors_were_.number() < 0) return;
    dup2(errors_were_.number(), STDERR_FILENO);
    std::array<char, 4096> bytes{};
    off_t said = 0;
    while (true) {
        const ssize_t count = pread(errors_.number(), bytes.data(), bytes.size(), said);
        if (count <= 0) return;
        if (::write(STDERR_FILENO, bytes.data(), static_cast<std::size_t>(count)) <= 0) return;
        said += count;
    }
}

int screen::keys() const noexcept {
    return STDIN_FILENO;
}

std::vector<key_press> screen::read_keys() {
    std::array<char, 256> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    // The terminal was readable and gave no byte, so it is gone.
    if (count <= 0) return {{pressed::quit, 0}};
    return keys_in({bytes.data(), static_cast<std::size_t>(count)});
}

void screen::hush_resizes() {
    signalfd_siginfo found{};
    while (::read(resizes_.number(), &found, sizeof found) == sizeof found) {
    }
}

screen_size screen::size() const {
    winsize found{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0) return {};
    return {found.ws_col, found.ws_row};
}

void screen::draw(const std::vector<std::string>& lines) const {
    // Marks the frame as one update (private mode 2026), so that a terminal that knows the mode
    // never shows half of it; others ignore the mark.
    std::string frame = "\033[?2026h\033[H";
    // Clears a line before its new text: behind a line that is as wide as the screen the cursor
    // stands on its last character.
    for (std::size_t at = 0; at < lines.size(); ++at) {
        const bool is_last = at + 1 == lines.size();
        frame.append(is_last ? "\033[J" : "\033[K").append(lines[at]).append("\033[0m");
        if (!is_last) frame += "\r\n";
    }
    write_all(frame += "\033[?2026l");
}

}  // namespace leasehold::cli
