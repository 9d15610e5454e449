#pragma once
// Private to the SOCI adapter: a MYSQL* of the caller's, as libmariadb and libmysqlclient have it.
// (The MySQL driver itself stands on Connector/C++, which does not take one.)
#include <mysql.h>

#include <memory>

#include "leasehold/connection.hpp"

namespace leasehold::mysql {

// An adapter that takes part in the caller's transaction, and leaves the connection's settings
// alone. It is valid while `lent` is; throws connection_lost if that is null.
std::unique_ptr<connection> adapt(MYSQL* lent);

}  // namespace leasehold::mysql
