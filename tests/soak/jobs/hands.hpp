#pragma once
// Does jobs of a run's queues, in threads beside the other duties of its process, and records what
// each handler asked and was told.
//
// Threads: one; its handlers have their own.
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <thread>

#include "leasehold/leasehold.hpp"
#include "soak/history.hpp"
#include "soak/jobs/job_tables.hpp"
#include "soak/tables.hpp"

namespace leasehold::soak {

class job_hands {
public:
    struct settings {
        int process = 0;
        std::uint64_t seed = 0;
        std::string folder;
        std::string prefix;
        std::string plant;                              // a bug, to show that the checkers see it
        std::function<void()> answered = [] {};         // by the database, once more
        std::function<void(int)> changed = [](int) {};  // how many handlers run, by so many
    };

    job_hands(settings given, database on);
    // Until it is asked to stop. A session that is lost is followed by another one.
    void work(const std::stop_token& stop);
    // Until nothing is left. Throws where that takes longer than this.
    void finish(std::chrono::milliseconds timeout);

private:
    class handling;

    session open_session() const;
    worker_settings worker_settings_for_all() const;
    // False where it was ended by an outage.
    bool run(const worker_settings& how, const std::stop_token& stop);
    bool is_anything_left() const;

    void write(record what);
    std::int64_t next_id();
    int between(int least, int most);

    const settings given_;
    const database database_;
    const job_tables tables_;
    std::mutex mutex_;  // of the two behind it
    history_writer history_;
    std::mt19937_64 random_;
};

}  // namespace leasehold::soak
