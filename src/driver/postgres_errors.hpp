#pragma once
// Private to the PostgreSQL driver: errors of libpq and the server, as leasehold::error.
//
// Our messages never contain a URL, nor libpq's message about one: these may contain the password.
#include <libpq-fe.h>

#include <chrono>
#include <string>

#include "leasehold/error.hpp"

namespace leasehold::postgres {

// "PostgreSQL at db.example:5432/app".
std::string address_of(const PGconn* handle);

std::string sqlstate_of(const PGresult* failure);

// A statement the server refused.
// A refusal by a standby passes: the server says that it is one, since 14, or is known to be.
error statement_error(
    const PGconn* on,
    const std::string& address,
    const PGresult* failure,
    bool is_known_standby = false
);

// The connection broke; `failure` may be null.
error lost_error(const std::string& address, const PGresult* failure, bool outcome_unknown);

error gave_up_error(
    const std::string& address, std::chrono::milliseconds limit, bool outcome_unknown
);

// A connection that could not be made, to any of the hosts that were tried. Wants verbosity
// PQERRORS_VERBOSE, because libpq gives a failed connection's SQLSTATE nowhere but in that text.
error connect_error(const PGconn* handle);
error connect_timeout_error(const PGconn* handle);
// `failure`, with the hosts of the URL that were asked before in vain.
error with_silent_hosts(const error& failure, const std::string& silent);
// The server is a former primary: a standby was promoted beside it, or instead of it.
error former_primary_error(const std::string& address, std::int64_t timeline, std::int64_t newest);
// The server is a standby, and the caller wants a primary.
error standby_error(const std::string& address);
// A connection that was made and then failed: poolers let everybody in and then find no server.
error set_up_error(const std::string& address, const PGresult* failure);

}  // namespace leasehold::postgres
