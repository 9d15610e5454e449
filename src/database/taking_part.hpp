#pragma once
// Checks a transaction of the caller's before an operation takes part in it, by the knowledge of
// the client library and before anything is sent.
#include <string_view>

#include "database/database.hpp"
#include "leasehold/connection.hpp"

namespace leasehold {

// Requires it to be open, and not failed. `what`: the operation, for the message.
void require_transaction(connection& inside, std::string_view what);

// Requires it to be of our engine and of our database. It asks nothing for a transaction that this
// very handle began. A connection that the caller has lent on a server is not asked either, since
// that would take one more round trip in each call.
void require_database(connection& inside, database::implementation& own, std::string_view what);

// As require_database(), but asks in every case: after the transaction has not shown a row of ours.
// Does nothing if a database cannot be asked: the row is lost then, wherever it was.
void refuse_other_database(
    connection& inside, database::implementation& own, std::string_view what
);

}  // namespace leasehold
