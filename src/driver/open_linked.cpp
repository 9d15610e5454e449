// All drivers that were built are part of the program.
#include "driver/open_drivers.hpp"
#if LEASEHOLD_OPEN_MYSQL
#include "leasehold/driver/mysql.hpp"
#endif
#if LEASEHOLD_OPEN_POSTGRES
#include "leasehold/driver/postgres.hpp"
#endif
#if LEASEHOLD_OPEN_SQLITE
#include "leasehold/driver/sqlite.hpp"
#endif

namespace leasehold {

opener opener_of(std::string_view driver) noexcept {
#if LEASEHOLD_OPEN_SQLITE
    if (driver == "sqlite") return &sqlite::open;
#endif
#if LEASEHOLD_OPEN_POSTGRES
    if (driver == "postgres") return &postgres::open;
#endif
#if LEASEHOLD_OPEN_MYSQL
    if (driver == "mysql") return &mysql::open;
#endif
    return nullptr;
}

bool is_installed(std::string_view driver) noexcept {
    return opener_of(driver) != nullptr;
}

}  // namespace leasehold
