#include "bench/histogram.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace leasehold::bench {
namespace {

// Each power of two has so many buckets; below that, each nanosecond has one.
constexpr std::uint64_t steps = 32;
constexpr int step_bits = 5;
constexpr std::size_t size = (64 - step_bits) * steps;

std::size_t index_of(std::uint64_t nanoseconds) {
    if (nanoseconds < steps) return nanoseconds;
    const auto shift = static_cast<int>(std::bit_width(nanoseconds)) - 1 - step_bits;
    return static_cast<std::size_t>(shift) * steps + (nanoseconds >> shift);
}

// The middle of a bucket.
std::uint64_t middle_of(std::size_t index) {
    if (index < 2 * steps) return index;
    const auto shift = index / steps - 1;
    const std::uint64_t least = (index % steps + steps) << shift;
    return least + (std::uint64_t{1} << shift) / 2;
}

std::uint64_t number_at(std::string_view& text) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{}) throw std::runtime_error("no histogram: " + std::string{text});
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);  // the separator
    return number;
}

}  // namespace

histogram::histogram() : buckets_(size) {}

void histogram::add(std::chrono::nanoseconds took) noexcept {
    took = std::max(took, std::chrono::nanoseconds{0});
    ++buckets_[index_of(static_cast<std::uint64_t>(took.count()))];
    ++count_;
    max_ = std::max(max_, took);
}

void histogram::add(const histogram& other) noexcept {
    for (std::size_t each = 0; each < size; ++each) buckets_[each] += other.buckets_[each];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
}

std::chrono::nanoseconds histogram::at(double share) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    if (wanted >= count_) return max_;
    std::uint64_t seen = 0;
    for (std::size_t each = 0; each < size; ++each) {
        seen += buckets_[each];
        if (seen == 0 || seen < wanted) continue;
        return std::min(std::chrono::nanoseconds{middle_of(each)}, max_);
    }
    return max_;
}

// "max:index=count:index=count…"
std::string histogram::packed() const {
    std::string text = std::to_string(max_.count());
    for (std::size_t each = 0; each < size; ++each) {
        if (buckets_[each] == 0) continue;
        text.append(":").append(std::to_string(each));
        text.append("=").append(std::to_string(buckets_[each]));
    }
    return text;
}

histogram histogram::unpacked(std::string_view text) {
    histogram made;
    made.max_ = std::chrono::nanoseconds{number_at(text)};
    while (!text.empty()) {
        const auto index = number_at(text);
        const auto count = number_at(text);
        made.buckets_.at(index) += count;
        made.count_ += count;
    }
    return made;
}

}  // namespace leasehold::bench
