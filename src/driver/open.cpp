#include "leasehold/open.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/utf8.hpp"
#include "driver/open_drivers.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

struct driver {
    std::string_view name;
    const char* missing;  // what to do if it was not built in
};

constexpr std::array drivers{
    driver{"sqlite", "SQLite: install sqlite3 and build with LEASEHOLD_SQLITE=ON"},
    driver{"postgres", "PostgreSQL: install libpq and build with LEASEHOLD_POSTGRES=ON"},
    driver{
        "mysql",
        "MySQL and MariaDB: install MySQL Connector/C++ and build with LEASEHOLD_MYSQL=ON"},
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

// libpq's other form: host=db.example dbname=app
bool is_key_value(std::string_view url) {
    const auto first = url.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    return first != 0 && first != std::string_view::npos && url[first] == '=';
}

}  // namespace

std::string_view driver_of(std::string_view url) {
    for (const scheme& each : schemes) {
        if (url.starts_with(each.text)) return each.driver;
    }
    if (is_key_value(url)) return "postgres";
    // Never shows the whole URL: if it is malformed, any part of it may be a password.
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
        if (is_installed(each.name)) names.push_back(each.name);
    }
    return names;
}

database open(url_text url, database_settings settings) {
    return open([url = std::string{url}] { return url; }, std::move(settings));
}

database open(url_source source, database_settings settings) {
    const std::string_view wanted = driver_of(source());
    if (const opener found = opener_of(wanted))
        return found(std::move(source), std::move(settings));
    const auto is_wanted = [&](const driver& each) { return each.name == wanted; };
    const char* const missing = std::ranges::find_if(drivers, is_wanted)->missing;
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
