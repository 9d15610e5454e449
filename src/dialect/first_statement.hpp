#pragma once
// Which statement of an acquire is worth sending first: hints, gained from earlier answers. Where
// they are wrong a statement more is sent, and nothing else happens.
//
// Keys that were refused lately are remembered by a hash each in a table of fixed size: two keys of
// one place take turns. Whether keys are mostly new, as where each order has a lock of its own, is
// told by how the latest tries of a free key ended.
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
    // What the key was found to be.
    void note_refused(const key& name) noexcept;
    void note_granted(const key& name) noexcept;

    // For tests: `whole` from here on.
    void suppress() noexcept { is_suppressed_ = true; }

private:
    static constexpr std::size_t places = 4096;
    // Of the misses in a row after which the whole statement goes first, and of the tries in which
    // one small statement then asks whether that is still so.
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
