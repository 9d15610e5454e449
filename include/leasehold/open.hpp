#pragma once
// Opens a database by its URL, whose scheme chooses the driver.
//
//   leasehold::database db = leasehold::open("postgresql://app@db.example/app");
//
// | scheme                     | driver                | where it is described |
// |----------------------------|-----------------------|-----------------------|
// | postgresql://, postgres:// | libpq                 | driver/postgres.hpp   |
// | host=… dbname=…            | libpq, its other form | driver/postgres.hpp   |
// | mysql://, mariadb://       | MySQL Connector/C++   | driver/mysql.hpp      |
// | sqlite:                    | sqlite3               | driver/sqlite.hpp     |
//
// This is a library of its own, with every driver that leasehold was built with: leasehold::open in
// CMake, leasehold-open for pkg-config. A program that speaks to one engine alone, and wants no
// other client library, links that driver and calls its own open().
//
// Errors: invalid_argument for an unknown scheme and for a URL that the driver finds malformed;
// unsupported, with the switch that would help, for a driver that was not built in. No message
// holds a password. Threads: safe.
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/url_source.hpp"

namespace leasehold {

// Connects to nothing: the first use does.
LEASEHOLD_EXPORT database open(url_text url, database_settings settings = {});
// Asks `source` for the URL again before each new connection, except on SQLite.
LEASEHOLD_EXPORT database open(url_source source, database_settings settings = {});

// "postgres", "mysql" (for MariaDB, too) or "sqlite", by the scheme alone, also if the driver
// was not built in. Throws invalid_argument for any other.
LEASEHOLD_EXPORT std::string_view driver_of(std::string_view url);

// The drivers that open() can use.
LEASEHOLD_EXPORT std::vector<std::string_view> drivers_built_in();

}  // namespace leasehold
