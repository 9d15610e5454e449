#pragma once
// "waiting for 'k', held by nightly@db1:123 for 3m12s", on one line of a terminal that comes after
// two seconds and goes when the waiting ends. Nothing where standard error is no terminal.
//
// Threads: one; the database is asked in the background, as it may be away.
#include <chrono>
#include <memory>
#include <string>

#include "cli/events.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/key.hpp"

namespace leasehold::cli {

class progress {
public:
    progress(const database& db, const key& name, bool is_json);
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    // Shows what is due, and says how long nothing will be, unless source() can be read before.
    std::chrono::nanoseconds tick();
    int source() const noexcept { return answered_.source(); }
    // The waiting has ended, for now.
    void hide();
    bool is_looking() const { return look_ && !look_->has_ended(); }

private:
    void show(std::string line);

    const database& database_;
    const key& name_;
    const bool is_wanted_;
    bool is_shown_ = false;
    bool is_waiting_ = false;
    bool is_stale_ = false;  // what is being looked up, for a wait that has ended
    local_clock::time_point next_;
    bell answered_;
    std::unique_ptr<background<std::string>> look_;  // last: it uses the others
};

}  // namespace leasehold::cli
