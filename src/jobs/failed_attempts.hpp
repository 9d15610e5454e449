#pragma once
// Writes failed attempts of jobs to standard error, for a database without an observer: see
// observer.hpp.
//
// Each worker has its own. It writes at most one line for each kind in `pause`. Events in between
// are counted, and the next line of the kind, or flush(), has their number. Kinds beyond the first
// `max_kinds` count as "other". A line that the descriptor does not take at once counts as left
// out, too, and the end of one that it took in part comes first when there is room again.
//
// Threads: safe.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/line_sink.hpp"
#include "core/thread_mutex.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/observer.hpp"

namespace leasehold {

class failed_attempts final : public observer {
public:
    static constexpr std::chrono::seconds pause{1};
    static constexpr std::size_t max_kinds = 100;

    explicit failed_attempts(std::unique_ptr<line_sink> to = to_standard_error())
        : to_(std::move(to)) {}

    void on_event(const event& what) noexcept override;
    // Writes the end of a line that was taken in part, and the numbers of those left out: of each
    // kind whose pause is over, or of all. Where there is no room, neither is waited for: the last
    // line of a worker that ends may stay cut.
    void flush(bool all) noexcept;

private:
    struct kind {
        local_clock::time_point next{};
        std::int64_t left_out = 0;
    };

    kind& kind_of(std::string_view name) LEASEHOLD_REQUIRES(mutex_);
    bool write(const std::string& line) LEASEHOLD_REQUIRES(mutex_);

    thread_mutex mutex_;
    const std::unique_ptr<line_sink> to_;
    std::map<std::string, kind, std::less<>> kinds_ LEASEHOLD_GUARDED_BY(mutex_);
    std::string rest_ LEASEHOLD_GUARDED_BY(mutex_);  // of a line that was taken in part
};

}  // namespace leasehold
