#include "cli/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/output.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::cli {
namespace {

constexpr std::chrono::seconds before_first{2};
constexpr std::chrono::seconds between{5};

// A line that wraps could not be taken back.
std::string cut_to_terminal(std::string line) {
    winsize size{};
    const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::size_t columns_max = (is_known ? size.ws_col : 80) - 1U;
    while (columns_of(line) > columns_max) {
        // Whole characters: the bytes that continue one are 10xxxxxx.
        while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0U) == 0x80) {
            line.pop_back();
        }
        if (!line.empty()) line.pop_back();
    }
    return line;
}

std::string line_for(const database& db, const key& name) {
    std::string line = "waiting for '" + printable(name.name()) + "'";
    try {
        const auto holder = describe(db, name);
        if (holder && holder->is_held) {
            line += ", held by " + printable(holder->node_info) + " for " + shown(holder->held_for);
        } else if (const auto by = find_row_lock(db, name)) {
            line += ", held by an open transaction";
            if (by->connection != 0) {
                line += by->locks_all_keys ? " of process " : " of connection ";
                line += std::to_string(by->connection);
            }
        }
    } catch (const error&) {
        line += ", and for the database to answer";
    }
    return line;
}

}  // namespace

progress::progress(const database& db, const key& name, bool is_json)
    : database_(db), name_(name), is_wanted_(!is_json && isatty(STDERR_FILENO) == 1) {}

progress::~progress() {
    hide();
}

std::chrono::nanoseconds progress::tick() {
    constexpr std::chrono::hours for_ever{1};
    if (!is_wanted_) return for_ever;
    if (!std::exchange(is_waiting_, true)) next_ = local_clock::now() + before_first;
    if (look_) {
        if (!answered_.hush()) return for_ever;
        const std::string line = look_->take();
        look_.reset();
        if (!std::exchange(is_stale_, false)) show(line);
        next_ = std::max(next_, local_clock::now() + between);
    } else if (local_clock::now() >= next_) {
        look_ = std::make_unique<background<std::string>>([this](const std::stop_token&) {
            std::string line = line_for(database_, name_);
            answered_.ring();
            return line;
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

void progress::show(std::string line) {
    std::cerr << '\r' << cut_to_terminal(std::move(line)) << "\033[K" << std::flush;
    is_shown_ = true;
}

}  // namespace leasehold::cli
