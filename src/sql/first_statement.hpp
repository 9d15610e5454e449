#pragma once
// Hints, gained from earlier answers, on the statement that an acquire best sends first. A wrong
// hint costs one statement more, and nothing else.
//
// A table of fixed size remembers a hash of each key that was refused lately: of two keys with one
// place it remembers the later one. The results of the latest tries of a free key tell whether keys
// are mostly new, such as when each order has a lock of its own.
//
// Threads: safe.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leasehold/key.hpp"

namespace leasehold {

class first_statement {
public:
    enum class choice {
        take_free = 1,  // nobody is known to have it
        look = 2,       // somebody had it when it was last tried
        whole = 3,      // the statement that is right in every case
    };

    choice of(const key& name) noexcept;

    // The granted key had a row, so that the small statement would have taken it; or it was new.
    void note_taken() noexcept;
    void note_missed() noexcept;
    // Remembers that somebody had the key; forgets this when it is granted.
    void note_refused(const key& name) noexcept;
    void note_granted(const key& name) noexcept;

    // For tests: chooses `whole` from here on.
    void suppress() noexcept { is_suppressed_ = true; }

private:
    static constexpr std::size_t places = 4096;
    // After so many misses in a row the whole statement is sent first. Then one try of this number
    // sends a small statement, to find out whether keys are still mostly new.
    static constexpr int max_misses = 4;
    static constexpr unsigned tries_between_small_ones = 16;

    std::atomic<std::uint64_t>& place_of(std::uint64_t hash) noexcept {
        return refused_[(hash >> 1U) % places];  // they are odd
    }

    std::array<std::atomic<std::uint64_t>, places> refused_{};  // 0: nobody
    std::atomic<int> misses_ = 0;                               // in a row
    std::atomic<unsigned> tries_ = 0;
    std::atomic<bool> is_suppressed_ = false;
};

}  // namespace leasehold
