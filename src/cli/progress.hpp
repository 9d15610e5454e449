#pragma once
// "waiting for 'k', held by nightly@db1:123 for 3m12s", on one line of a terminal, which appears
// after two seconds and is erased when the waiting ends. If standard error is no terminal, or in
// JSON, it writes lines for a log: when the errand's silence is over, and then at growing
// intervals. For a quiet errand it writes nothing.
//
// Threads: one; the database is asked in the background, as it may be away.
#include <chrono>
#include <memory>
#include <optional>

#include "cli/run/errand.hpp"
#include "cli/run/events.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold::cli {

class progress {
public:
    progress(const database& db, const errand& what LEASEHOLD_LIFETIMEBOUND);
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    // Shows a line that is due. The answer is the time until the next line may be due, unless
    // source() becomes readable before.
    std::chrono::nanoseconds tick();
    int source() const noexcept { return answered_.source(); }
    // Says that the waiting has ended for now.
    void hide();
    bool is_looking() const { return look_ && !look_->has_ended(); }

private:
    using instant = local_clock::time_point;

    // The obstacle of the wait: a lease, or the end of a transaction, or the database.
    struct obstacle {
        std::optional<lock_info> holder;
        std::optional<row_lock_info> by;
        bool is_known = false;
    };
    static obstacle look_at(const database& db, const key& name);

    void tell_at_terminal(const obstacle& found);
    void tell_in_log(const obstacle& found, instant now);

    const database& database_;
    const errand& what_;
    const bool has_terminal_;
    bool is_shown_ = false;
    bool is_waiting_ = false;
    bool is_stale_ = false;  // the lookup that runs is for a wait that has ended
    instant began_;
    instant next_;
    std::chrono::nanoseconds pause_{0};
    event_flag answered_;
    std::unique_ptr<background<obstacle>> look_;  // last: it uses the others
};

}  // namespace leasehold::cli
