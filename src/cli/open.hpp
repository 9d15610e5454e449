#pragma once
// Opens the database that a command's options name.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "leasehold/database.hpp"
#include "leasehold/observer.hpp"

namespace leasehold::cli {

// If a statement takes longer than the limit, the database counts as one that does not answer. A
// caller waits for a connection for `timeout` at most, but for a second at least. A command needs
// one connection at a time; a lock's session keeps one more for its heartbeat.
database open_database(
    const global_options& options,
    std::chrono::milliseconds statement_timeout = std::chrono::seconds{5},
    std::optional<std::chrono::milliseconds> timeout = {},
    // The name of its connections in the server's lists; empty: leasehold.
    std::string name = {},
    int max_connections = 2,
    std::shared_ptr<observer> also_told = {}
);

// The variables that tell the tool the password of its database, and that a command does not get:
// the URL's, and that of the engine's client. The command keeps the variable of another engine.
// With --pass-url there are none.
std::vector<std::string> password_variables(const global_options& options);

// The place of the database, for people: without user, password and options; a file's whole path.
std::string place_of(std::string_view url);

// The engines that this build can speak to: "sqlite, postgres, mysql".
std::string names_of_drivers();

}  // namespace leasehold::cli
