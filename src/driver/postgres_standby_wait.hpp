#pragma once
// Private to the PostgreSQL driver: the end of a wait that the server itself never ends.
//
// A commit that waits for a synchronous standby heeds no time-out of the server's and does not
// notice that its client has gone: each attempt on a primary without its standby would leave a
// process behind. It heeds a cancel; its commit is then done on this server alone, and may be
// undone by a fail-over. The caller that waited for it is told that its outcome is unknown.
#include <libpq-fe.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/thread_mutex.hpp"
#include "driver/postgres_settings.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::postgres {

// The identity of a server and of its start; see origin_words(). Without text it is not known, and
// no wait is ended.
struct server_origin {
    bool operator==(const server_origin&) const = default;

    std::string text{};
    set_up_question how = set_up_question::settings_alone;
};

// Uses a second connection, since libpq before 17 waits for its own cancel for however long the
// network takes. Ends only such a wait, and only on this server: a proxy may lead to another one
// meanwhile. Best effort: leaves waits that it cannot end until then. Answers whether one was
// ended.
bool end_standby_wait(
    const PGconn* of, const server_origin& origin, local_clock::time_point until
) noexcept;

// The connections of one database handle that were given up while they may have waited. The next
// caller that connects to the same server ends the remaining ones, so that they do not add up.
//
// Threads: safe.
class left_waits {
public:
    void add(const server_origin& on, int process);
    // Uses this connection, which is ready and between statements, and is silent if it fails.
    void end_on(PGconn* handle, const server_origin& here, local_clock::time_point until) noexcept;

private:
    struct left_wait {
        server_origin on;
        int process;
        local_clock::time_point since;
    };
    static constexpr std::size_t max_size = 1000;

    thread_mutex mutex_;
    std::vector<left_wait> all_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold::postgres
