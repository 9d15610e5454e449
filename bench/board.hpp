#pragma once
// The holder of a hot key writes down here that it lets go, for the next one to see how long that
// took: memory of one process, or a file that several have mapped.
//
// Threads: safe. The key itself keeps two from writing at once.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "bench/crew.hpp"

namespace leasehold::bench {

class board {
public:
    explicit board(const std::string& path);
    ~board();
    board(const board&) = delete;
    board& operator=(const board&) = delete;

    // Forgets the round before, which has nothing to do with the next one.
    void wipe() noexcept;
    void let_go(int by) noexcept;
    int last() const noexcept { return shared_->by; }
    // The time since somebody else let go; nothing where it was nobody, or the same.
    std::optional<std::chrono::nanoseconds> since(int asked_by) const noexcept;

private:
    struct entry {
        std::atomic<std::int64_t> at;
        std::atomic<int> by;
    };
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);

    entry* shared_;
};

}  // namespace leasehold::bench
