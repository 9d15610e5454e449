#include "cli/run/complaints.hpp"

#include <algorithm>

namespace leasehold::cli {
namespace {

// A text that is equal for failures that differ only in a time, a port or a count.
std::string reason_told_by(const error& failure) {
    std::string text = failure.what();
    std::erase_if(text, [](char each) { return each >= '0' && each <= '9'; });
    return std::string(name_of(failure.code())) + ' ' + std::to_string(failure.native_code()) +
           ' ' + failure.sqlstate() + ' ' + text;
}

}  // namespace

bool complaints::is_due(const error& failure, instant now) {
    const bool is_new = said_.insert(reason_told_by(failure)).second;
    if (!is_new && now - said_at_ < pause_) return false;
    pause_ = is_new ? first_pause : std::min(2 * pause_, longest_pause);
    said_at_ = now;
    return true;
}

}  // namespace leasehold::cli
