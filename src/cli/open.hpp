#pragma once
// From a URL to a database: the scheme says which driver.
#include <chrono>
#include <string>
#include <string_view>

#include "cli/options.hpp"
#include "leasehold/database.hpp"

namespace leasehold::cli {

// A statement that takes longer than the limit counts as a database that does not answer.
database open_database(
    const global_options& options,
    std::chrono::milliseconds statement_timeout = std::chrono::seconds{5}
);

// What the URL's scheme says without asking a server: "postgres", "sqlite", or "mysql" for both
// MySQL and MariaDB.
std::string_view driver_of(std::string_view url);

// Where that is, for people: without user, password and options; of a file its whole path.
std::string place_of(std::string_view url);

// "sqlite, postgres, mysql": what this build can speak to.
std::string drivers_built_in();

}  // namespace leasehold::cli
