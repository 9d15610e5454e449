#include "cli/unstalled_errors.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <string>

#include "leasehold/clock.hpp"

namespace leasehold::cli {
namespace {

// After a poll that says so, a pipe takes as much without waiting (PIPE_BUF).
constexpr std::size_t piece_max = 4096;
constexpr std::chrono::milliseconds patience{200};

}  // namespace

unstalled_errors::unstalled_errors(bool is_json)
    : is_json_(is_json), before_(std::cerr.rdbuf(this)) {}

unstalled_errors::~unstalled_errors() {
    std::cerr.rdbuf(before_);
}

unstalled_errors::int_type unstalled_errors::overflow(int_type byte) {
    const char one = traits_type::to_char_type(byte);
    xsputn(&one, 1);
    return traits_type::not_eof(byte);
}

std::streamsize unstalled_errors::xsputn(const char* from, std::streamsize count) {
    const std::lock_guard guard{mutex_};
    const std::string_view words{from, static_cast<std::size_t>(count)};
    if (is_stalled_ && write_whole(gap())) {
        is_stalled_ = false;
        missing_ = 0;
    }
    if (is_stalled_ || !write_whole(words)) {
        is_stalled_ = true;
        missing_ += std::ranges::count(words, '\n');
    }
    return count;
}

std::string unstalled_errors::gap() const {
    const std::string count = std::to_string(missing_);
    if (missing_ == 0) return {};
    if (is_json_) return R"({"error":"messages_missing","lines":)" + count + "}\n";
    return "leasehold: " + count + " lines are missing here: standard error was not read\n";
}

// False where nothing of it was taken in time. Where it takes no more in the middle the rest is
// lost.
bool unstalled_errors::write_whole(std::string_view words) const {
    const auto until = local_clock::now() + (is_stalled_ ? patience * 0 : patience);
    const std::size_t size = words.size();
    while (!words.empty()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - local_clock::now()).count();
        pollfd out{STDERR_FILENO, POLLOUT, 0};
        if (poll(&out, 1, static_cast<int>(std::max<long>(left, 0))) == 0) {
            return words.size() < size;
        }
        const auto count = write(STDERR_FILENO, words.data(), std::min(words.size(), piece_max));
        if (count < 0 && errno != EINTR && errno != EAGAIN) return true;
        if (count > 0) words.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

}  // namespace leasehold::cli
