// The suite on MariaDB, at LEASEHOLD_TEST_MARIADB_URL.
#include "conformance/mysql_backend.hpp"

namespace leasehold::testing {

backend make_backend() {
    return make_mysql_backend("mariadb");
}

}  // namespace leasehold::testing
