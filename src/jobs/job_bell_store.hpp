#pragma once
// The bells by which workers hear of new jobs in their queues. The general MUSTs: hold_store.hpp.
//
// Bells are hints: after a lost ring the worker's next look finds the jobs.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {

class sql_dialect;

struct job_bell {
    owner_id bell;          // the id that a ring carries
    std::string address{};  // see database/doorbell.hpp; empty: only the database rings it
};

class job_bell_store {
public:
    virtual ~job_bell_store() = default;
    static std::unique_ptr<job_bell_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Adds a bell, or changes it: while the session lives, it is rung for these queues.
    // MAY commit asynchronously.
    virtual void add(
        connection& on,
        const std::vector<std::string>& queues,
        const session_id& whose,
        const job_bell& which
    ) = 0;
    virtual void remove(
        connection& on, const std::vector<std::string>& queues, const owner_id& bell
    ) = 0;
    // At most `limit` bells of the queue: those from `from` on, and then the first ones; without
    // bells of sessions that have ended. A plain read.
    virtual std::vector<job_bell> list(
        connection& on, std::string_view queue, const owner_id& from, int limit
    ) = 0;
    // Removes bells of the queue whose sessions' rows are gone.
    virtual void prune(connection& on, std::string_view queue) = 0;
};

}  // namespace leasehold
