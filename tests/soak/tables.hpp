#pragma once
// The rows that workers fight over, in SQL that every engine takes: numbers are literals, since
// placeholders differ.
//
// Per key: a list and a counter, changed together in a transaction that proves the lease, and a row
// of its own that is changed without proof.
//
// Threads: safe as long as the transactions are.
#include <cstdint>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/key.hpp"
#include "soak/history.hpp"
#include "soak/jobs/job_tables.hpp"
#include "soak/share_tables.hpp"

namespace leasehold::soak {

// Mutexes; the last ones are also taken several at once.
constexpr int mutex_count = 3;
constexpr int set_keys_count = 4;
constexpr int key_count = mutex_count + set_keys_count;
key key_of(int number);

// By the beginning of the URL. Workers have short time-outs: a hanging call should be noticed.
enum class time_outs { of_workers, of_the_conductor };
database open_database(
    const std::string& url, const std::string& prefix, time_outs which, int max_connections = 4
);

struct counters {
    std::int64_t counter = 0;  // changed under proof
    std::int64_t value = 0;    // changed without
};

class tables {
public:
    explicit tables(std::string prefix)
        : prefix_(std::move(prefix)), shares_(prefix_), jobs_(prefix_) {}

    const share_tables& shares() const noexcept { return shares_; }

    void create(const database& db) const;
    bool are_there(const database& db) const;
    // Together with leasehold's own.
    void drop(const database& db) const;

    counters read(const database& db, int key_number) const;
    // The list grows by one, at a position the database counts; the counter is set to what its
    // writer believes.
    void append(
        transaction& tx,
        int key_number,
        std::int64_t token,
        int process,
        std::int64_t id,
        std::int64_t counter
    ) const;
    void set_value(transaction& tx, int key_number, std::int64_t value) const;

    std::vector<record> content(const database& db) const;

private:
    std::string prefix_;
    share_tables shares_;
    job_tables jobs_;
};

}  // namespace leasehold::soak
