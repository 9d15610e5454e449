#pragma once
// Private to the PostgreSQL driver: the meaning of a SQLSTATE (appendix A of the manual); it is
// empty if libpq itself failed. Tested as tables in tests/unit/classify_postgres_test.cpp.
#include <string_view>

#include "leasehold/error.hpp"

namespace leasehold {

errc classify_postgres(std::string_view sqlstate) noexcept;

// True when an attempt to connect that failed like this may succeed in a moment: the server starts,
// stops or is full, the network or a proxy cut the line. It may without a SQLSTATE: a restarting
// server looks like that, too.
bool may_connect_later_postgres(std::string_view sqlstate) noexcept;

// True when a statement failed because the server is out of disk space, memory or connections: it
// may pass.
bool is_exhausted_postgres(std::string_view sqlstate) noexcept;

}  // namespace leasehold
