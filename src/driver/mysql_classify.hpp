#pragma once
// Private to the MySQL driver: the meanings of error numbers. Tested as tables in
// tests/unit/classify_mysql_test.cpp.
#include <string_view>

#include "leasehold/error.hpp"

namespace leasehold {

// Classifies an error number; a number that MySQL and MariaDB both have means the same on both.
errc classify_mysql(int native_code) noexcept;

// True when an attempt to connect that failed like this may succeed in a moment: the server starts,
// stops or is full, the network or a proxy cut the line. `words`: the client library's message, for
// the numbers that it uses for two things.
bool may_connect_later_mysql(int native_code, std::string_view words) noexcept;

// True when a statement failed because the server is out of disk space or memory: it may pass. An
// error of the storage engine has its number only in the message.
bool is_exhausted_mysql(int native_code, std::string_view words) noexcept;

// True when a statement failed because its table is crashed or is being repaired: it may pass, by
// the repair that a server makes by itself or by a person's.
bool is_under_repair_mysql(int native_code, std::string_view words) noexcept;

// True when a server refused a change because it is read-only as a whole, such as a replica or a
// demoted server: a fail-over may be in progress. `words`: the server's message, which names the
// option.
bool is_standby_mysql(int native_code, std::string_view words) noexcept;

}  // namespace leasehold
