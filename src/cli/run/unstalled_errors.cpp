#include "cli/run/unstalled_errors.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

#include "cli/run/error_copy.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {
namespace {

constexpr std::chrono::milliseconds write_timeout{200};

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

// False if standard error took nothing of the text in time. If it stops in the middle, the rest is
// lost.
bool unstalled_errors::write_whole(std::string_view words) const {
    using std::chrono::milliseconds;
    const auto until = local_clock::now() + (is_stalled_ ? milliseconds{0} : write_timeout);
    const std::size_t size = words.size();
    while (!words.empty()) {
        const auto left = std::chrono::ceil<milliseconds>(until - local_clock::now());
        const std::size_t count = write_error_words(words, std::max(left, milliseconds{0}));
        if (count == 0 && local_clock::now() >= until) return words.size() < size;
        words.remove_prefix(count);
    }
    return true;
}

}  // namespace leasehold::cli
