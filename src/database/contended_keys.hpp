#pragma once
// The keys that somebody waits for, as far as this process has seen: they save statements on a hot
// key.
//
// | seen                                       | the key is |
// |--------------------------------------------|------------|
// | a call of this process has queued          | contended     |
// | a release found somebody waiting           | contended     |
// | a hand-over found nobody                   | forgotten  |
// | a call that queued was served at once      | forgotten  |
//
// A release of a contended key asks for the hand-over first, which is right whether or not somebody
// waits; a call that may wait for one queues first, and is served at once if the key is free. So a
// wrong guess costs one statement, and corrects itself.
//
// Bounded: each key has a mark in a slot that other keys share. A mark that was forgotten, or is
// taken for another key's, is a wrong guess.
//
// Threads: safe.
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include "leasehold/key.hpp"

namespace leasehold {

class contended_keys {
public:
    bool has(const key& name) const noexcept {
        const guess made = guess_;
        if (made != guess::from_memory) return made == guess::always;
        const std::size_t mark = mark_of(name);
        return place_of(mark) == mark;
    }
    void note(const key& name) noexcept {
        const std::size_t mark = mark_of(name);
        place_of(mark) = mark;
    }
    void forget(const key& name) noexcept {
        std::size_t mark = mark_of(name);
        place_of(mark).compare_exchange_strong(mark, 0);
    }

    // For tests: the same guess always, whatever was seen.
    enum class guess { from_memory, never, always };
    void suppose(guess what) noexcept { guess_ = what; }

private:
    static std::size_t mark_of(const key& name) noexcept {
        return std::hash<std::string>{}(name.name()) | 1;  // 0 stands for no key
    }
    std::atomic<std::size_t>& place_of(std::size_t mark) noexcept {
        return marks_[mark / 2 % marks_.size()];
    }
    const std::atomic<std::size_t>& place_of(std::size_t mark) const noexcept {
        return marks_[mark / 2 % marks_.size()];
    }

    std::array<std::atomic<std::size_t>, 256> marks_{};
    std::atomic<guess> guess_ = guess::from_memory;
};

}  // namespace leasehold
