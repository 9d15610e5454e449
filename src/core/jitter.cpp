#include "core/jitter.hpp"

#include <algorithm>
#include <random>

namespace leasehold {

std::chrono::nanoseconds jittered(std::chrono::nanoseconds upper) {
    // Not a secret and not a test's randomness: it only has to differ between threads and hosts.
    thread_local std::minstd_rand random{std::random_device{}()};
    const auto most = std::max<std::int64_t>(upper.count(), 2000);
    return std::chrono::nanoseconds{
        std::uniform_int_distribution<std::int64_t>{most / 2, most}(random)};
}

std::chrono::nanoseconds backed_off(
    int failures, std::chrono::nanoseconds first, std::chrono::nanoseconds last
) {
    auto upper = first;
    for (int each = 1; each < failures && upper < last; ++each) upper *= 2;
    return jittered(std::min(upper, last));
}

}  // namespace leasehold
