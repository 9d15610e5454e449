#pragma once
// Private to the MySQL driver: one packet of statements to the server and all answers back.
#include <cstddef>
#include <string>

#include "driver/mysql_client.hpp"
#include "leasehold/value.hpp"

namespace leasehold::mysql {

// Sends `text`, which holds `statements` statements, and answers with the rows of the last one that
// has rows and the affected rows of the first (Connector/C++ keeps no others).
//
// `answered` counts the statements known to have succeeded, also when this throws: then statement
// number `answered` (from 0) is the one that failed, and nothing after it was run.
//
// `has_rows` (may be null): true when any statement could have had rows, be there none.
//
// Reads all answers, whatever happens: an answer left unread makes every later call fail (2014,
// commands out of sync) and Connector/C++'s destructors throw. A statement has one answer; a CALL
// has more and may only come last.
//
// Throws sql::SQLException, and what copying rows throws.
result exchange(
    sql::Connection& on,
    const std::string& text,
    std::size_t statements,
    std::size_t& answered,
    bool* has_rows = nullptr
);

}  // namespace leasehold::mysql
