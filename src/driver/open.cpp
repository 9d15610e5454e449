#include "leasehold/open.hpp"

#include <array>
#include <string>
#include <utility>

#include "core/utf8.hpp"
#include "leasehold/error.hpp"

// Which drivers are here is decided when leasehold is built: LEASEHOLD_OPEN_<DRIVER> is 0 or 1.
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
namespace {

using opener = database (*)(std::string_view url, database_settings settings);

struct driver {
    std::string_view name;
    opener open;          // nothing: not built in
    const char* missing;  // what to do then
};

constexpr std::array drivers {
#if LEASEHOLD_OPEN_SQLITE
    driver{"sqlite", &sqlite::open, ""},
#else
    driver{"sqlite", nullptr, "SQLite: install sqlite3 and build with LEASEHOLD_SQLITE=ON"},
#endif
#if LEASEHOLD_OPEN_POSTGRES
        driver{"postgres", &postgres::open, ""},
#else
        driver{
            "postgres", nullptr, "PostgreSQL: install libpq and build with LEASEHOLD_POSTGRES=ON"},
#endif
#if LEASEHOLD_OPEN_MYSQL
        driver{"mysql", &mysql::open, ""},
#else
        driver{
            "mysql",
            nullptr,
            "MySQL and MariaDB: install MySQL Connector/C++ and build with LEASEHOLD_MYSQL=ON"},
#endif
};

struct scheme {
    std::string_view text;
    std::string_view driver;
};

constexpr std::array schemes{
    scheme{"sqlite:", "sqlite"},
    scheme{"postgresql://", "postgres"},
    scheme{"postgres://", "postgres"},
    scheme{"mysql://", "mysql"},
    scheme{"mariadb://", "mysql"},
};

}  // namespace

std::string_view driver_of(std::string_view url) {
    for (const scheme& each : schemes) {
        if (url.starts_with(each.text)) return each.driver;
    }
    // Never the whole URL: where it is malformed, nobody knows which part is a password.
    const auto named = url.substr(0, url.find("://"));
    const bool has_scheme = named.size() < url.size() && !named.empty();
    throw error(
        errc::invalid_argument,
        (has_scheme ? "no database is known by the URL scheme '" + printable_utf8(named) + "'"
                    : std::string("the database URL has no scheme")) +
            "; write sqlite:PATH, postgresql://user@host:port/database or "
            "mysql://user@host:port/database"
    );
}

std::vector<std::string_view> drivers_built_in() {
    std::vector<std::string_view> names;
    for (const driver& each : drivers) {
        if (each.open) names.push_back(each.name);
    }
    return names;
}

database open(std::string_view url, database_settings settings) {
    const std::string_view wanted = driver_of(url);
    const char* missing = "";
    for (const driver& each : drivers) {
        if (each.name != wanted) continue;
        if (each.open) return each.open(url, std::move(settings));
        missing = each.missing;
    }
    std::string others;
    for (const std::string_view each : drivers_built_in()) {
        others.append(others.empty() ? "" : ", ").append(each);
    }
    throw error(
        errc::unsupported,
        std::string("this leasehold was built without its driver for ") + missing + "; it has " +
            (others.empty() ? "none" : others)
    );
}

}  // namespace leasehold
