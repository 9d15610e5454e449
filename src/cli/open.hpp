#pragma once
// From the options of a command to its database.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "leasehold/database.hpp"

namespace leasehold::cli {

// A statement that takes longer than the limit counts as a database that does not answer. Whoever
// waits for so long altogether waits no longer for a connection, but for a second at least. One
// connection at a time is all a command needs; a lock's session keeps one more for its heartbeat.
database open_database(
    const global_options& options,
    std::chrono::milliseconds statement_timeout = std::chrono::seconds{5},
    std::optional<std::chrono::milliseconds> patience = {},
    // Of its connections, in the server's lists; empty: leasehold.
    std::string name = {},
    int connections_max = 2
);

// The variables that tell the tool the password of its database, which a command does not get: the
// URL's, and that of the engine's client. That of another engine is the command's own affair. None
// with --pass-url.
std::vector<std::string> password_variables(const global_options& options);

// Where that is, for people: without user, password and options; of a file its whole path.
std::string place_of(std::string_view url);

// "sqlite, postgres, mysql": what this build can speak to.
std::string names_of_drivers();

}  // namespace leasehold::cli
