#pragma once
// A fault test's view of a real server beyond the library: the waits behind a connection, the end
// of a connection, the server's clock, and the careless statements the library is held against.
//
// All SQL of these tests is in server_<kind>.cpp; each is linked with the backends it knows.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/session.hpp"

namespace leasehold::testing {

// The ways in which a careless program takes a key from a holder it believes dead.
enum class careless_take {
    by_old_snapshot,     // theft a: what it looked up before it waited decides after the wait
    by_no_live_session,  // theft b: a session it cannot see is a dead one
    by_plain_read,       // theft c: a read that does not see a renewal in flight is proof
};

// The ways in which it renews a session.
enum class careless_renewal {
    by_the_time_it_came_in,  // the expiry is tested before the wait for the row, or by that time
    without_a_test,          // any row it finds is renewed
};

class server {
public:
    virtual ~server() = default;

    virtual std::int64_t id_of(connection& on) const = 0;
    virtual void kill(connection& asker, std::int64_t id) const = 0;
    virtual bool is_connected(connection& asker, std::int64_t id) const = 0;
    // The connections that wait for a lock this one holds.
    virtual std::vector<std::int64_t> waiting_behind(connection& asker, std::int64_t id) const = 0;

    // Microseconds since 1970, by the server's clock, and when a session expires by it.
    virtual std::int64_t now(connection& asker) const = 0;
    virtual std::int64_t expiry_of(connection& asker, const session_id& id) const = 0;

    // Lock one row until the transaction ends, as a statement about to change it does.
    virtual void lock_key_row(connection& inside, const key& name) const = 0;
    virtual void lock_session_row(connection& inside, const session_id& id) const = 0;

    // A writer's hold on a shared mutex whose header exists, as a grant writes it; not yet
    // committed.
    virtual void grant_hold(connection& inside, const key& name, const session_id& to) const = 0;

    // One careless statement or packet, committed. True where it changed the row.
    virtual bool take(connection& on, careless_take how, const key& name, const session_id& taker)
        const = 0;
    virtual bool renew(connection& on, careless_renewal how, const session_id& id) const = 0;

    // Turns what a session could change about time against the library, where it must not matter.
    virtual void confuse_clock(connection& on) const = 0;
};

// `prefix` of the tables. Defined by the server_<kind>.cpp that is linked.
std::unique_ptr<server> make_server(const std::string& backend, const std::string& prefix);

}  // namespace leasehold::testing
