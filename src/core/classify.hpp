#pragma once
// What an engine's error numbers mean: one pure function per engine, shared by every driver that
// reaches it. Tested as tables in tests/unit/classify_test.cpp.
#include <string_view>

#include "leasehold/error.hpp"

namespace leasehold {

// By SQLSTATE (PostgreSQL, appendix A); empty where libpq itself failed.
errc classify_postgres(std::string_view sqlstate) noexcept;

// By error number, the same on MySQL and MariaDB where both have it.
errc classify_mysql(int native_code) noexcept;

// By extended result code.
errc classify_sqlite(int extended_code) noexcept;

// Whether an attempt to connect that failed like this may succeed in a moment: the server starts,
// stops or is full, the network or a proxy cut the line. `words`: what the client library says, for
// the numbers it uses for two things. `sqlstate` is empty where libpq itself failed, which is what
// a restarting server looks like, too.
bool may_connect_later_mysql(int native_code, std::string_view words) noexcept;
bool may_connect_later_postgres(std::string_view sqlstate) noexcept;

// Whether a failure of this class proves that a statement sent outside a transaction, or a COMMIT,
// was not carried out. False for a lost connection or a time-out: then the outcome is unknown.
bool proves_not_done(errc code) noexcept;

}  // namespace leasehold
