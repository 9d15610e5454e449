#pragma once
// The operations on the record of each run-once task, its last run. Records carry tokens: the
// greater of two counts, in whatever order they arrive.
// The general MUSTs: hold_store.hpp.
//
// Only the holder of the lock of the same name claims a record, which carries the token of that
// hold. Tokens grow, so an unfinished record with a lower token than one's own is that of a former
// holder. No claim needs to look at a session.
//
// A tick is the one instant that travels: it is data. The schedule computes it from the time that
// the database gave in look(), and it is compared with ticks alone. Here, too, a value that is
// compared with a clock is sent as a duration.
//
// The clock is the server's. On SQLite it is the wall clock, bound after the write lock was taken:
// fire times are dates, which the clock since boot does not know.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/run_info.hpp"

namespace leasehold {

class sql_dialect;

struct run_look {
    schedule::instant now;
    std::optional<run_info> last;
};

struct run_claim {
    leasehold::key name;
    fencing_token token;  // of the hold on `name`
    owner_id owner;
    std::string node_info;
    schedule::instant tick;
    std::chrono::microseconds hold_at_least{0};
    bool may_repeat = true;       // the same tick, if it was not finished
    std::string schedule_text{};  // as run_info's; empty: not kept
};

struct run_finish {
    leasehold::key name;
    fencing_token token;
    owner_id owner;
    run_result result;
};

class run_store {
public:
    static constexpr std::size_t max_message_bytes = 1000;
    static constexpr std::size_t max_schedule_bytes = 255;

    virtual ~run_store() = default;
    static std::unique_ptr<run_store> make(const std::shared_ptr<const sql_dialect>& how);

    // The time, and the record of the task as it is. Plain reads, one round trip. Running or
    // abandoned: whether the lock row is held live by the record's owner under its token.
    virtual run_look look(connection& on, const key& name) = 0;

    // Records the start of a tick if there is no record, or if the record has a lower token,
    // was opened again, and has an older tick, or the same one unfinished if may_repeat. MUST
    // answer true also if the record is this claim's own already: its answer may have been lost.
    // Durable.
    virtual bool claim(connection& on, const run_claim& wanted) = 0;

    // Records the end of exactly this run, also where it was recorded before. On any connection, in
    // a transaction or not. False: the record is not this run's.
    virtual bool finish(connection& on, const run_finish& what) = 0;

    // Plain reads: names greater than `after` that begin with `prefix`, at most `limit`. Each with
    // the time at which it was read.
    virtual std::vector<run_look> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) = 0;

    // Removes the record. False: there was none.
    virtual bool forget(connection& on, const key& name) = 0;
};

}  // namespace leasehold
