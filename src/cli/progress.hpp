#pragma once
// "waiting for 'k', held by nightly@db1:123 for 3m12s", on one line of a terminal that comes after
// two seconds and goes when the waiting ends. Nothing where standard error is no terminal.
//
// Threads: one.
#include <chrono>
#include <optional>

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

    // Shows what is due, and says how long nothing will be.
    std::chrono::nanoseconds tick();

private:
    void show();

    const database& database_;
    const key& name_;
    const bool is_wanted_;
    bool is_shown_ = false;
    local_clock::time_point next_;
};

}  // namespace leasehold::cli
