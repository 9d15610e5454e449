#pragma once
// Checks a transaction of the caller's before an operation takes part in it, by the knowledge of
// the client library and before anything is sent.
#include <string_view>

#include "leasehold/connection.hpp"

namespace leasehold {

// Requires it to be open, and not failed. `what`: the operation, for the message.
void require_transaction(connection& inside, std::string_view what);

// Requires it to be of our engine.
void require_engine(const connection& inside, engine ours, std::string_view what);

}  // namespace leasehold
