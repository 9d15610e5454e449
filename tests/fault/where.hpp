#pragma once
// The place where other processes find the backend's tables, and the way to open a database there.
// Apart from the suites, so that a small program can be linked with it alone.
#include <string>

#include "leasehold/database.hpp"
#include "leasehold/session.hpp"

namespace leasehold::testing {

// `name` of the backend; `own` is a database on it. For the owner of the tables, and for a
// program's user.
std::string url_of(const std::string& name, const database& own);
std::string program_url_of(const std::string& name, const database& own);

// settings.names are those of the tables.
database open_at(const std::string& url, database_settings settings);

}  // namespace leasehold::testing
