#pragma once
// The open transactions of database::begin(), and the work that waits for the end of each:
// notifications of others, and releases of leases. A release that is sent while such a transaction
// keeps the lease's row locked would wait for its own caller.
//
// Threads: safe.
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/this_thread.hpp"
#include "core/thread_mutex.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {

class open_transactions {
public:
    // A transaction begins on this connection, in this thread.
    void begin(const connection& inside);
    bool has_begun(const connection& inside) const;
    // A transaction may pass from thread to thread, and belongs to the one that used it last.
    void note_thread(const connection& inside);
    // The connection may be in a transaction that is not one of these: then nothing is noted.
    // Calls `what` on the connection when the transaction has committed: once for each name.
    using after_commit = std::function<void(connection& on)>;
    void run_after_commit(const connection& inside, const std::string& name, after_commit what);
    void note_proof(const connection& inside, const owner_id& owner);

    // A transaction that would keep a release waiting.
    struct obstacle {
        owner_id owner;          // it has proved a lease of this owner,
        bool is_of_this_thread;  // and of those only one that this thread uses
    };
    bool has(const obstacle& what) const;
    // Runs `release` at the end of that transaction. False, and does nothing, if there is none.
    bool run_behind(const obstacle& what, std::function<void()> release);

    // The transaction has ended: runs the releases that wait for it. Returns what is to be done if
    // it has committed.
    std::map<std::string, after_commit> end(const connection& inside) noexcept;

private:
    struct one {
        bool locks_all = false;  // SQLite's one writer
        std::uint64_t thread = this_thread_number();
        std::map<std::string, after_commit> committed{};
        std::set<owner_id> proved{};
        std::vector<std::function<void()>> releases{};

        bool is(const obstacle& what) const;
    };

    mutable thread_mutex mutex_;
    std::map<const connection*, one> all_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold
