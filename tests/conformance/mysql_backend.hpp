#pragma once
// The backend of MySQL and of MariaDB, which is the same.
#include "conformance/sql_backend.hpp"

namespace leasehold::testing {

// Fails where the server at the URL is not the one named.
backend make_mysql_backend(const std::string& name);

}  // namespace leasehold::testing
