#pragma once
// A drain of jobs leaves a row for each time that a job's effect was committed. Nothing but its
// claim keeps a job from having two.
//
// Threads: safe, all of it but what takes a transaction.
#include <cstdint>
#include <string>

#include "leasehold/database.hpp"

namespace leasehold::soak {

constexpr const char* drained_queue = "drain";

class ledger {
public:
    explicit ledger(const std::string& prefix) : table_(prefix + "ledger") {}

    void create(const database& db) const;
    void drop(const database& db) const;

    // `number`: the job's payload. `rescues`: how often it was rescued before.
    void add(transaction& tx, const std::string& number, int rescues) const;

    struct sums {
        std::int64_t rows = 0, jobs = 0, least = 0, greatest = 0;
        std::int64_t rescues = 0, rescued_jobs = 0, rescues_most = 0;
    };
    sums read(const database& db) const;

private:
    const std::string table_;
};

}  // namespace leasehold::soak
