#pragma once
// The times of many operations, in buckets that are 3 % wide: from nanoseconds to years in a fixed
// 16 KiB, whatever their number.
//
// Threads: one at a time; each worker has its own, and they are added up.
// Source: buckets after Gil Tene's HdrHistogram.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::bench {

class histogram {
public:
    histogram();

    void add(std::chrono::nanoseconds took) noexcept;
    void add(const histogram& other) noexcept;

    std::uint64_t count() const noexcept { return count_; }
    // The least time that `share` of all took at most: 0.5 is the median. Zero where there is none.
    std::chrono::nanoseconds at(double share) const noexcept;
    std::chrono::nanoseconds max() const noexcept { return max_; }

    // One word, for the way from one process to another.
    std::string packed() const;
    static histogram unpacked(std::string_view text);

private:
    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    std::chrono::nanoseconds max_{0};
};

}  // namespace leasehold::bench
