#pragma once
// Where a URL comes from that may change while programs run: a file, or a store of secrets, in
// which somebody has put a new password.
//
//   leasehold::database db = leasehold::open([] { return read_secret("database-url"); });
//
// Asked when the database is opened, and again before each new connection. What is connected stays
// so. The engine stays the same: a URL of another one fails as a connection does.
//
// Threads: called from any thread, by several at once. What it throws goes to whoever wanted a
// connection.
#include <functional>
#include <string>

namespace leasehold {

using url_source = std::function<std::string()>;

}  // namespace leasehold
