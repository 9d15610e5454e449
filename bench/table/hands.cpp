#include "bench/table/hands.hpp"

#include <stdexcept>

#include "leasehold/open.hpp"

namespace leasehold::bench {

std::unique_ptr<hand> make_library_hand(const place& where) {
    const auto driver = driver_of(where.url);
#if LEASEHOLD_BENCH_POSTGRES
    if (driver == "postgres") return make_postgres_hand(where);
#endif
#if LEASEHOLD_BENCH_MYSQL
    if (driver == "mysql") return make_mysql_hand(where);
#endif
#if LEASEHOLD_BENCH_SQLITE
    if (driver == "sqlite") return make_sqlite_hand(where);
#endif
    throw std::runtime_error("this program was built without the library of " + where.url);
}

}  // namespace leasehold::bench
