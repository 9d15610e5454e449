#pragma once
// Floors through the client libraries themselves: libpq, the C client of MySQL and MariaDB, and
// sqlite3.
#include <memory>

#include "bench/hand.hpp"

namespace leasehold::bench {

std::unique_ptr<hand> make_postgres_hand(const place& where);
std::unique_ptr<hand> make_mysql_hand(const place& where);
std::unique_ptr<hand> make_sqlite_hand(const place& where);

// The hand of the URL's engine.
std::unique_ptr<hand> make_library_hand(const place& where);

}  // namespace leasehold::bench
