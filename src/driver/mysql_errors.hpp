#pragma once
// Private to the MySQL driver: errors of Connector/C++ and the server, as leasehold::error.
//
// Our messages never contain a password, nor the server's message, which may contain user data.
#include <chrono>
#include <string>

#include "driver/mysql_url.hpp"
#include "leasehold/error.hpp"
#include "leasehold/export.hpp"

namespace leasehold::mysql {

// The contents of an sql::SQLException.
struct failure {
    int code = 0;
    std::string sqlstate;
    std::string words;
};

// A statement that was refused or whose answer was lost; `place` is "MariaDB at db.example:3306".
// `is_at_stake`: the statement was outside of a transaction, or ended one, so that it may have been
// committed.
LEASEHOLD_EXPORT error
statement_error(const std::string& place, const failure& what, bool is_at_stake);

// The client library stopped waiting for an answer; the connection is of no use any more.
error gave_up_error(
    const std::string& place, const failure& what, std::chrono::seconds waited, bool is_at_stake
);

error connect_error(const address& where, const failure& what);
// The connection was made, and then its session could not be set up. No call was under way.
error set_up_error(const address& where, const error& cause);

// True when the client library's idea of the connection, or the connection itself, is broken then.
LEASEHOLD_EXPORT bool breaks_connection(int code) noexcept;

// True when InnoDB has rolled back the whole transaction and not only the statement.
bool ends_transaction(int code) noexcept;

}  // namespace leasehold::mysql
