#pragma once
// Hints, gained from earlier answers, on the statement that an acquire best sends first. A wrong
// hint costs one statement more, and nothing else.
//
// A table of fixed size remembers keys that were refused lately by a hash each: two keys of one
// place take turns. The results of the latest tries of a free key tell whether keys are mostly new,
// as where each order has a lock of its own.
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
        whole = 3,      // the one that is right in every case
    };

    choice of(const key& name) noexcept;

    // A key that was granted had a row, which the small one takes; or it was new.
    void note_taken() noexcept;
    void note_missed() noexcept;
    // Remembers the state in which a statement found the key.
    void note_refused(const key& name) noexcept;
    void note_granted(const key& name) noexcept;

    // For tests: chooses `whole` from here on.
    void suppress() noexcept { is_suppressed_ = true; }

private:
    static constexpr std::size_t places = 4096;
    // The number of misses in a row after which the whole statement goes first, and the number of
    // tries in which one small statement then asks whether that is still right.
    static constexpr int misses_max = 4;
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
