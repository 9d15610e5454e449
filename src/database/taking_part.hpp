#pragma once
// What every operation in a transaction of the caller's asks of it, by what the client library
// knows and before anything is sent.
#include <string_view>

#include "leasehold/connection.hpp"

namespace leasehold {

// Open, and not failed. `what`: the operation, for the message.
void require_transaction(connection& inside, std::string_view what);

// Of the engine that what is taken part in is on.
void require_engine(const connection& inside, engine ours, std::string_view what);

}  // namespace leasehold
