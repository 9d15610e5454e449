#pragma once
// Private to the dialects: the stores of claims.
#include <memory>

#include "claims/table_store.hpp"

namespace leasehold {

namespace postgres_dialect {
std::unique_ptr<table_store> make_table_store();
}
namespace mysql_dialect {
std::unique_ptr<table_store> make_table_store(engine which);
}
namespace sqlite_dialect {
std::unique_ptr<table_store> make_table_store();
}

}  // namespace leasehold
