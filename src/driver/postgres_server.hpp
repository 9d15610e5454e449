#pragma once
// Private to the PostgreSQL driver: the common part of our own and borrowed connections.
#include <libpq-fe.h>

#include <chrono>
#include <string_view>

#include "leasehold/engine.hpp"

namespace leasehold::postgres {

// Throws unsupported for servers before version 13. A broken connection has version 0.
server_info server_of(const PGconn* handle);

// A setting that the server reports with each change, so that asking costs nothing; empty if it
// does not report this one.
std::string_view reported(const PGconn* by, const char* setting) noexcept;

// True when a text may have a statement that ends a transaction by committing it: COMMIT, END or
// PREPARE TRANSACTION. It errs only towards true: then a lost answer is reported as unknown.
bool may_commit(std::string_view sql);

// A time limit as the server and our clock can express it.
std::chrono::milliseconds limit_within_range(std::chrono::milliseconds limit) noexcept;

// The server is to give up first: its "cancelled" leaves no doubt, our own giving up does. The
// first function says how much sooner, the second the server's time limit, in milliseconds.
std::chrono::milliseconds head_start(std::chrono::milliseconds limit) noexcept;
std::string server_bound(std::chrono::milliseconds limit);

}  // namespace leasehold::postgres
