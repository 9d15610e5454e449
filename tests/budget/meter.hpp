#pragma once
// Counts, at the server, the library's costs for a database of its own. Each <engine>_meter.cpp
// defines the meter and the budget; README.md says what is counted, and where.
//
// A cost that cannot be counted throws: a budget nobody looked at must not pass.
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>

#include "leasehold/database.hpp"
#include "leasehold/session.hpp"

namespace leasehold::testing {

struct cost {
    std::int64_t round_trips = 0;  // 0 where there is no server
    std::int64_t statements = 0;   // without BEGIN and COMMIT where there is no server
    std::int64_t rows = 0;         // changed; on PostgreSQL also those a statement answered with

    friend bool operator==(const cost&, const cost&) = default;
    friend cost operator+(const cost& left, const cost& right) {
        return {
            left.round_trips + right.round_trips,
            left.statements + right.statements,
            left.rows + right.rows};
    }
    friend cost operator-(const cost& left, const cost& right) {
        return {
            left.round_trips - right.round_trips,
            left.statements - right.statements,
            left.rows - right.rows};
    }
    friend cost operator*(const cost& each, std::int64_t times) {
        return {each.round_trips * times, each.statements * times, each.rows * times};
    }
    friend std::ostream& operator<<(std::ostream& to, const cost& what) {
        return to << what.round_trips << " round trips, " << what.statements << " statements, "
                  << what.rows << " rows";
    }
};

// The largest permitted cost of each operation on this engine.
struct budget {
    cost grant;            // try_acquire, the key free and known
    cost new_grant;        // try_acquire, the key never seen
    cost usual_new_grant;  // the same, where the last four keys were new as well
    cost refusal;          // where it was refused last time, too
    cost release;
    cost heartbeat;
    cost proof;
    cost life;     // a session that begins with a grant, and ends with its release
    cost nothing;  // a statement of the tests' own: SELECT 1
};
budget allowed();

class meter {
public:
    meter();
    ~meter();
    meter(const meter&) = delete;
    meter& operator=(const meter&) = delete;

    // All of whose connections are counted; the tables are there.
    database open() const;

    // The cost of the library so far; complete once nothing is under way.
    cost spent() const;

    // Grows with every transaction that changes anything, also with those of others on a shared
    // server: only "not at all" and "at least so much" can be told from it.
    std::int64_t writes() const;
    // The growth of writes() by one transaction; nothing where that is not a fixed number.
    static std::optional<std::int64_t> writes_per_transaction();

    // True when writes() counts no transactions of others.
    static bool is_alone();

    // Bytes of log written by the library's own statements, where the server can tell.
    std::optional<std::int64_t> logged() const;

    // Puts what earlier work has left to do behind us, such as dead rows that a reader removes.
    void settle() const;

    // The number of flushes of the log: of everybody's, and of those of `by` up to its last
    // statement. Only PostgreSQL has flushes that can be told apart.
    static bool counts_flushes();
    std::int64_t flushes(const database& by) const;

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace leasehold::testing
