#pragma once
// The queues that workers of a run do jobs of, and a row for each time that a job's effect was
// committed: nothing keeps a job from having two but its claim.
//
// Threads: safe as long as the transactions are.
#include <cstdint>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "soak/history.hpp"

namespace leasehold::soak {

// Numbered from 500, beside keys and shares.
constexpr int limited_queue = 500;
constexpr int free_queue = 501;
constexpr int max_running = 3;                     // of the limited one
constexpr int ordering_keys = 3, unique_keys = 2;  // of each queue
std::string name_of_queue(int queue);

// A process's handlers write a history of their own, since a history belongs to one thread.
constexpr int handlers_of(int process) {
    return 10'000 + process;
}

class job_tables {
public:
    explicit job_tables(std::string prefix) : prefix_(std::move(prefix)) {}

    void create(const database& db) const;
    void drop(const database& db) const;

    void note_effect(
        transaction& tx, std::int64_t job, std::int64_t token, int process, std::int64_t id
    ) const;
    void add_content(transaction& tx, std::vector<record>& to) const;

    // Wrong on purpose: a job that runs is available again, whatever its session does.
    void take_from_the_living(transaction& tx) const;

private:
    std::string prefix_;
};

}  // namespace leasehold::soak
