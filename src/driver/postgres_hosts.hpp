#pragma once
// Private to the PostgreSQL driver: the hosts of a URL, and the order in which they are asked.
//
// libpq asks them in the order of the URL, and asks the next one if one cannot be reached or takes
// no writes. It waits for ever for a host that takes the connection and does not answer, such as a
// server whose processes are stopped. So each host has an equal part of the time that is left for
// it and for those behind it. If a host did not answer, the host that was connected to instead is
// asked first from then on, until another one is connected to. Otherwise the order of the URL
// stands: it lets a handle find a promoted standby beside its former primary
// (postgres_history.hpp).
#include <libpq-fe.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/thread_mutex.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::postgres {

struct option;

struct host {
    bool operator==(const host&) const = default;

    std::string name;  // or a folder of sockets; may be empty if there is an address
    std::string address;
    std::string port;
};
using hosts = std::vector<host>;

// The hosts as libpq has them, in its order; empty if there is only one.
hosts hosts_of(const PGconn* of);
// The hosts behind the one that was asked last.
hosts hosts_behind(const hosts& all, const PGconn* asked);
// Changes the options so that `these` are asked, in their order; if it is empty, leaves them as
// they are.
void ask_in_turn(std::vector<option>& options, const hosts& these);

// Tells when the host that is asked now has had its part of the time.
class host_turn {
public:
    host_turn(const hosts& all LEASEHOLD_LIFETIMEBOUND, local_clock::time_point until)
        : all_(all), until_(until) {}
    local_clock::time_point end(const PGconn* asked);

private:
    const hosts& all_;
    const local_clock::time_point until_;
    std::size_t behind_ = static_cast<std::size_t>(-1);
    local_clock::time_point end_{};
};

// One for each database handle. Threads: safe.
class host_order {
public:
    // The hosts in the order in which they are to be asked; empty: as the URL has them.
    hosts now() const;
    // Takes all hosts, as the URL has them; later calls have no effect.
    void learn(const hosts& all);
    // This host was connected to. `met_silence`: after a host that did not answer in its time.
    void note(const PGconn* connected, bool met_silence);

private:
    mutable thread_mutex mutex_;
    hosts all_ LEASEHOLD_GUARDED_BY(mutex_);
    std::size_t preferred_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
};

}  // namespace leasehold::postgres
