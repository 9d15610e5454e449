#include "cli/open.hpp"

#include <filesystem>
#include <system_error>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#ifdef LEASEHOLD_WITH_MYSQL
#include "leasehold/driver/mysql.hpp"
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
#include "leasehold/driver/postgres.hpp"
#endif
#ifdef LEASEHOLD_WITH_SQLITE
#include "leasehold/driver/sqlite.hpp"
#endif

namespace leasehold::cli {
namespace {

using opener = database (*)(std::string_view url, database_settings settings);

struct driver {
    std::string_view name;
    opener open;  // nothing: not built in
};

constexpr driver drivers[] = {
#ifdef LEASEHOLD_WITH_SQLITE
    {"sqlite", &sqlite::open},
#else
    {"sqlite", nullptr},
#endif
#ifdef LEASEHOLD_WITH_POSTGRES
    {"postgres", &postgres::open},
#else
    {"postgres", nullptr},
#endif
#ifdef LEASEHOLD_WITH_MYSQL
    {"mysql", &mysql::open},
#else
    {"mysql", nullptr},
#endif
};

}  // namespace

std::string_view driver_of(std::string_view url) {
    if (url.starts_with("sqlite:")) return "sqlite";
    if (url.starts_with("postgresql://") || url.starts_with("postgres://")) return "postgres";
    if (url.starts_with("mysql://")) return "mysql";
    // Never the whole URL: where it is malformed, nobody knows which part is a password.
    const auto scheme = url.substr(0, url.find("://"));
    const bool has_scheme = scheme.size() < url.size() && !scheme.empty();
    throw usage_failure(
        (has_scheme ? "no database is known by the URL scheme '" + printable(scheme) + "'"
                    : std::string("the database URL has no scheme")) +
        "; write sqlite:PATH, postgresql://user@host:port/database or "
        "mysql://user@host:port/database"
    );
}

std::string place_of(std::string_view url) {
    if (driver_of(url) == "sqlite") {
        url.remove_prefix(std::string_view{"sqlite:"}.size());
        std::error_code unknown;
        const auto whole = std::filesystem::absolute(url, unknown);
        return "the file " + (unknown ? std::string(url) : whole.lexically_normal().string());
    }
    const auto scheme_end = url.find("://") + 3;
    std::string place{url.substr(0, scheme_end)};
    // The user first: a password may have a question mark in it.
    std::string_view rest = url.substr(scheme_end);
    const auto user_end = rest.find_first_of("@/");
    if (user_end != std::string_view::npos && rest[user_end] == '@') {
        rest.remove_prefix(user_end + 1);
    }
    return place.append(rest.substr(0, rest.find('?')));
}

database open_database(const global_options& options, std::chrono::milliseconds statement_timeout) {
    const std::string url = url_of(options);
    const std::string_view wanted = driver_of(url);
    database_settings settings;
    settings.names.prefix = options.table_prefix;
    settings.names.schema = options.schema;
    // One at a time is all a command needs; a lock's session keeps one more for its heartbeat.
    settings.connections_max = 2;
    settings.statement_timeout = statement_timeout;
    for (const driver& each : drivers) {
        if (each.name == wanted && each.open) return each.open(url, std::move(settings));
    }
    throw usage_failure(
        "this leasehold was built without " + std::string(wanted) +
        "; it has: " + drivers_built_in()
    );
}

std::string drivers_built_in() {
    std::string names;
    for (const driver& each : drivers) {
        if (!each.open) continue;
        if (!names.empty()) names += ", ";
        names += each.name;
    }
    return names.empty() ? "none" : names;
}

}  // namespace leasehold::cli
