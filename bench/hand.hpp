#pragma once
// A floor's way to speak to its database: one connection, and statements that are prepared once.
// Here through leasehold's own connection; in bench/table through each client library itself.
//
// Threads: one.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/workload.hpp"
#include "leasehold/engine.hpp"
#include "leasehold/value.hpp"

namespace leasehold::bench {

class hand {
public:
    // The first column of the rows, where that is a number; all else is read and dropped.
    struct answer {
        std::int64_t rows = 0;  // answered, or changed where it answers with none
        std::vector<std::int64_t> ids{};
    };

    hand() = default;
    hand(const hand&) = delete;
    hand& operator=(const hand&) = delete;
    virtual ~hand() = default;

    virtual engine which() const = 0;
    virtual answer execute(const std::string& text, const parameters& values) = 0;
    virtual void begin() = 0;
    virtual void commit() = 0;

    // Lines of columns with tabs between, by `text`, which is a COPY. False: it cannot.
    virtual bool copy(const std::string&, const std::string&) { return false; }
    // From now on wait_for_notification() ends when the database notifies. False: it cannot.
    virtual bool listen(const std::string&) { return false; }
    // False: it has not notified for so long.
    virtual bool wait_for_notification(std::chrono::milliseconds) { return false; }
};

using hand_maker = std::function<std::unique_ptr<hand>(const place& where)>;

std::unique_ptr<hand> make_hand(const place& where);

// The side that one would write by hand. `whose` names the floor, of several, for tables of its
// own; of job-drain besides:
//
// | whose  | how jobs are claimed                                                   |
// |--------|------------------------------------------------------------------------|
// | apart  | marked, in one commit; deleted when they are done, in another          |
// | held   | deleted, in a transaction that is open until they are done             |
// | others | marked, in the commit that deletes those before: on PostgreSQL by one  |
// |        | statement                                                              |
std::unique_ptr<side> make_floor(
    const workload& what,
    const place& where,
    const std::string& whose = "floor",
    const hand_maker& by = &make_hand
);
// The same of jobs.
std::unique_ptr<side> make_job_floor(
    const workload& what, const place& where, const std::string& whose, const hand_maker& by
);
// On SQLite the threads of a floor queue for the file in their process.
std::unique_ptr<hand> hand_in_turn(const hand_maker& make, const place& where);

}  // namespace leasehold::bench
