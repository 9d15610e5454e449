#include "cli/ticking_line.hpp"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "cli/output.hpp"

namespace leasehold::cli {

ticking_line::ticking_line(std::function<std::string()> words, bool is_json)
    : words_(std::move(words)),
      is_on_(!is_json && isatty(STDERR_FILENO) == 1),
      next_(local_clock::now() + std::chrono::seconds{2}) {}

ticking_line::~ticking_line() {
    clear();
}

std::chrono::nanoseconds ticking_line::tick() {
    if (!is_on_) return std::chrono::hours{1};
    const auto now = local_clock::now();
    if (now < next_) return next_ - now;
    next_ = now + std::chrono::seconds{1};
    std::cerr << "\r\033[K" + printable(words_()) + "..." << std::flush;
    is_shown_ = true;
    return std::chrono::seconds{1};
}

void ticking_line::clear() {
    if (std::exchange(is_shown_, false)) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace leasehold::cli
