#include "cli/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/output.hpp"
#include "cli/show/described.hpp"
#include "cli/show/row_locked.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::cli {
namespace {

constexpr std::chrono::seconds before_first{2};
constexpr std::chrono::seconds between{5};
constexpr std::chrono::minutes between_in_log{1};
constexpr std::chrono::minutes longest_in_log{10};

// A line that wraps could not be erased.
std::string cut_to_terminal(const std::string& line) {
    winsize size{};
    const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::size_t max_columns = (is_known ? size.ws_col : 80) - 1U;
    return line.substr(0, bytes_that_fit(line, max_columns));
}

std::string shown_transaction(const row_lock_info& by) {
    std::string words = "held by an open transaction";
    if (by.connection == 0) return words;
    return words + (by.locks_all_keys ? " of process " : " of connection ") +
           std::to_string(by.connection);
}

}  // namespace

progress::progress(const database& db, const errand& what)
    : database_(db), what_(what), has_terminal_(!what.is_json && isatty(STDERR_FILENO) == 1) {}

progress::~progress() {
    hide();
}

std::chrono::nanoseconds progress::tick() {
    constexpr std::chrono::hours for_ever{1};
    if (what_.is_quiet) return for_ever;
    const auto now = local_clock::now();
    if (!std::exchange(is_waiting_, true)) {
        began_ = now;
        pause_ = has_terminal_ ? std::chrono::nanoseconds{between} : between_in_log;
        next_ = now + (has_terminal_ ? before_first : what_.silent_for);
    }
    if (look_) {
        if (!answered_.take()) return for_ever;
        const obstacle found = look_->take();
        look_.reset();
        const bool is_told = !std::exchange(is_stale_, false);
        if (is_told && has_terminal_) tell_at_terminal(found);
        if (is_told && !has_terminal_) tell_in_log(found, now);
        next_ = std::max(next_, now + pause_);
        if (!has_terminal_) {
            pause_ = std::min<std::chrono::nanoseconds>(2 * pause_, longest_in_log);
        }
    } else if (now >= next_) {
        look_ = std::make_unique<background<obstacle>>([this](const std::stop_token&) {
            obstacle found = look_at(database_, what_.name);
            answered_.set();
            return found;
        });
        return for_ever;
    }
    return std::max<std::chrono::nanoseconds>(
        next_ - local_clock::now(), std::chrono::nanoseconds{0}
    );
}

void progress::hide() {
    if (std::exchange(is_shown_, false)) std::cerr << "\r\033[K" << std::flush;
    is_waiting_ = false;
    is_stale_ = look_ != nullptr;
}

progress::obstacle progress::look_at(const database& db, const key& name) {
    obstacle found;
    try {
        found.holder = describe(db, name);
        const bool is_held = found.holder && found.holder->is_held;
        if (!is_held) found.by = find_row_lock(db, name);
        found.is_known = true;
    } catch (const error&) {
        found = {};
    }
    return found;
}

void progress::tell_at_terminal(const obstacle& found) {
    std::string line = "waiting for '" + printable(what_.name.name()) + "'";
    if (!found.is_known) {
        line += ", and for the database to answer";
    } else if (found.holder && found.holder->is_held) {
        line += ", held by " + printable(found.holder->node_info) + " for " +
                shown(found.holder->held_for) + printable(shown_note(*found.holder));
    } else if (found.by) {
        line += ", " + shown_transaction(*found.by);
    }
    std::cerr << '\r' << cut_to_terminal(line) << "\033[K" << std::flush;
    is_shown_ = true;
}

// While the database is unreachable, the waiting candidate itself says so.
void progress::tell_in_log(const obstacle& found, instant now) {
    if (!found.is_known) return;
    using std::chrono::milliseconds;
    const auto waited = std::chrono::duration_cast<milliseconds>(now - began_);
    std::string line = "waiting for '" + what_.name.name() + "', for " + shown(waited) + " so far";
    nlohmann::json fields{{"key", what_.name.name()}, {"holder", nullptr}};
    if (found.holder && found.holder->is_held) {
        fields = json_of(*found.holder);
        line += ": it is held by " + found.holder->node_info + " for " +
                shown(found.holder->held_for) + " (token " +
                std::to_string(found.holder->token.number) + ")" + shown_note(*found.holder);
    } else if (found.by) {
        fields["row_lock"] = fields_of(*found.by);
        line += ": it is " + shown_transaction(*found.by);
    }
    fields["waited_seconds"] = seconds_of(waited);
    tell(what_.is_json, "waiting", line, fields);
}

}  // namespace leasehold::cli
