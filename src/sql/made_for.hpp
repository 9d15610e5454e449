#pragma once
// Makes a store by the maker of the engine that a dialect is for.
#include <memory>

#include "sql/sql_store.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold {

template <class Store, class Postgres, class Mysql, class Sqlite>
std::unique_ptr<Store> made_for(
    const std::shared_ptr<const sql_dialect>& how, Postgres postgres, Mysql mysql, Sqlite sqlite
) {
    if (how->which() == engine::postgres) return postgres(how);
    if (how->which() != engine::sqlite) return mysql(how);
    return sqlite(std::static_pointer_cast<const sqlite_dialect::dialect>(how));
}

}  // namespace leasehold
