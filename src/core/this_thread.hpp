#pragma once
// The number of the calling thread, from 1 on. No other thread of this process ever has it, whereas
// a std::thread::id is given again when its thread has been joined.
#include <atomic>
#include <cstdint>

namespace leasehold {

inline std::uint64_t this_thread_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    thread_local const std::uint64_t number = ++last;
    return number;
}

}  // namespace leasehold
