#pragma once
// What any database must be able to do about the dead. The general MUSTs: lock_store.hpp.
//
// Each call is one batch of at most `limit` rows, found first and then changed by primary key under
// a test repeated in the changing statement; rows locked by others are skipped, not waited for.
#include <chrono>
#include <cstdint>

#include "leasehold/connection.hpp"

namespace leasehold {

class upkeep_store {
public:
    virtual ~upkeep_store() = default;

    // Frees lock rows held by sessions proved dead (see try_acquire), by fixed terms that passed,
    // and by sessions whose row is gone (a hold can only have been granted while that row existed,
    // so a snapshot that has the hold and not the row is proof). Answers with how many.
    virtual std::int64_t free_locks_of_the_dead(connection& on, int limit) = 0;

    // Removes rows of sessions that expired more than `retention` ago and have neither lock rows
    // nor holder rows.
    virtual std::int64_t remove_sessions(
        connection& on, std::chrono::microseconds retention, int limit
    ) = 0;

    // Removes free lock rows without holder rows that nobody held for `retention`. MUST raise the
    // high-water mark to at least their fences in the same transaction, having locked the mark
    // before the first delete.
    virtual std::int64_t remove_idle_locks(
        connection& on, std::chrono::microseconds retention, int limit
    ) = 0;
};

}  // namespace leasehold
