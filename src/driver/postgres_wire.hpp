#pragma once
// Private to the PostgreSQL driver: talking to a server through libpq within a deadline.
//
// libpq's blocking calls have no time limit at all, and neither tcp_user_timeout nor keepalives end
// a wait for a server process that is stopped while its kernel still answers. So this code calls
// none of them: it sends and reads by poll(2), with a deadline of our own.
//
// Threads: one connection, one thread at a time.
#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "leasehold/clock.hpp"

namespace leasehold::postgres {

class bound_parameters;

struct result_deleter {
    void operator()(PGresult* each) const noexcept { PQclear(each); }
};
using result_handle = std::unique_ptr<PGresult, result_deleter>;

enum class exchange_end {
    answered = 0,  // completely: whether with a result or an error, the server is done
    gave_up = 1,   // the deadline passed: the server may still be at work
    lost = 2,      // the connection is gone
    copying = 3,   // the statement began a COPY, which this code cannot serve
};

enum class message_kind { query = 0, prepare = 1, execute_prepared = 2, script = 3 };

struct message {
    message_kind kind = message_kind::query;
    const char* name = "";  // of a prepared statement
    const char* sql = "";
    const bound_parameters* values = nullptr;  // null: no values
};

struct reply {
    exchange_end end = exchange_end::lost;
    std::vector<std::vector<result_handle>> results;  // for each message, one or more

    // The first error, whichever message caused it: those behind it were not carried out.
    const PGresult* failure() const noexcept;
    bool has_succeeded() const noexcept {
        return end == exchange_end::answered && failure() == nullptr;
    }
};

// False when the deadline passed, or a stop was requested, first. A closed socket counts as ready:
// libpq then reports the error.
bool wait_for_socket(
    int socket, short events, local_clock::time_point until, const std::stop_token& stop = {}
) noexcept;

// An act that is done once, when there is no answer yet.
struct impatience {
    local_clock::time_point since;
    std::function<void()> act;
};

// Sends all messages at once and reads all answers. Several messages take one round trip, share
// one implicit transaction, and end at the first error (libpq's pipeline mode). The connection must
// be non-blocking and between commands.
reply exchange(
    PGconn* handle,
    std::span<const message> batch,
    local_clock::time_point until,
    const impatience* late = nullptr
);

}  // namespace leasehold::postgres
