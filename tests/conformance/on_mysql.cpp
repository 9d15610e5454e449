// The suite on MySQL, at LEASEHOLD_TEST_MYSQL_URL.
#include "conformance/mysql_backend.hpp"

namespace leasehold::testing {

backend make_backend() {
    return make_mysql_backend("mysql");
}

}  // namespace leasehold::testing
