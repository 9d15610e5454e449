#pragma once
// Private to the PostgreSQL driver: asks libpq to connect, within a deadline.
#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "driver/postgres_hosts.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/engine.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres {

struct connection_deleter {
    void operator()(PGconn* each) const noexcept { PQfinish(each); }
};
using connection_handle = std::unique_ptr<PGconn, connection_deleter>;

// A keyword of libpq's; if several have one name the last counts. `dbname` may be a URL, which
// counts as all options in it.
struct option {
    std::string name;
    std::string value;
};

using conninfo = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;
// All options that it is, or was to be, connected with.
conninfo info_of(const PGconn* of);
std::string text_or_none(const char* text);

// The options that this one is connected with, for the one host that it is connected to.
std::vector<option> options_of_host(const PGconn* of);

transport transport_of(const PGconn* handle);

struct dialled {
    connection_handle handle;  // also if it failed: that of the host that was asked last
    std::optional<error> failure{};
    hosts all{};                      // all hosts that were to be asked, if there are several
    local_clock::time_point until{};  // the end of the time of that host
};

// libpq looks up host names, which cannot be bounded; all else ends by `until`, or when it is
// stopped. If a host does not answer in its part of the time, this does not ask those behind it.
dialled dial(
    const std::vector<option>& options,
    local_clock::time_point until,
    const std::stop_token& stop = {}
);

}  // namespace leasehold::postgres
