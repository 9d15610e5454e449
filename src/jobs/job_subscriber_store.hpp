#pragma once
// The subscribers of queues: the workers that want to hear of new jobs, and at which address. The
// general MUSTs: hold_store.hpp.
//
// A row of the table job_bell is a subscriber; its column `bell` is the subscriber's id. A
// notification is a hint: if it is lost, the worker's next look finds the jobs.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {

class sql_dialect;

struct job_subscriber {
    owner_id id;            // what a datagram to it carries
    std::string address{};  // see database/notifier.hpp; empty: only the database notifies it
};

class job_subscriber_store {
public:
    virtual ~job_subscriber_store() = default;
    static std::unique_ptr<job_subscriber_store> make(const std::shared_ptr<const sql_dialect>& how
    );

    // Adds a subscriber of these queues, or changes its address. It counts while its session lives.
    // MAY commit asynchronously.
    virtual void add(
        connection& on,
        const std::vector<std::string>& queues,
        const session_id& whose,
        const job_subscriber& which
    ) = 0;
    virtual void remove(
        connection& on, const std::vector<std::string>& queues, const owner_id& id
    ) = 0;
    // At most `limit` subscribers of the queue: those from `from` on, and then the first ones;
    // without those of sessions that have ended. A plain read.
    virtual std::vector<job_subscriber> list(
        connection& on, std::string_view queue, const owner_id& from, int limit
    ) = 0;
    // Removes subscribers of the queue whose sessions' rows are gone.
    virtual void prune(connection& on, std::string_view queue) = 0;
};

}  // namespace leasehold
