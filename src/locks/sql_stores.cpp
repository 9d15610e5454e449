#include "locks/sql_stores.hpp"

#include "locks/sql_waiter_store.hpp"
#include "sql/made_for.hpp"

namespace leasehold {
namespace {

// PostgreSQL's channel belongs to the tables: their name is cut to the length that a channel may
// have.
std::string channel_of(const table_names& names) {
    constexpr std::size_t max_channel_size = 63;
    return (names.schema + "." + names.prefix + "waiter").substr(0, max_channel_size);
}

}  // namespace

#include "statements_locks.inc"

const sql_source locks_sql{postgres_locks, mysql_locks, sqlite_locks};

std::unique_ptr<hold_store> hold_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return made_for<hold_store>(
        how,
        postgres_dialect::make_hold_store,
        mysql_dialect::make_hold_store,
        sqlite_dialect::make_hold_store
    );
}

std::unique_ptr<holder_store> holder_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return made_for<holder_store>(
        how,
        postgres_dialect::make_holder_store,
        mysql_dialect::make_holder_store,
        sqlite_dialect::make_holder_store
    );
}

std::unique_ptr<multi_lock_store> multi_lock_store::make(
    const std::shared_ptr<const sql_dialect>& how
) {
    return made_for<multi_lock_store>(
        how,
        postgres_dialect::make_multi_lock_store,
        mysql_dialect::make_multi_lock_store,
        sqlite_dialect::make_multi_lock_store
    );
}

std::unique_ptr<waiter_store> waiter_store::make(const std::shared_ptr<const sql_dialect>& how) {
    if (how->which() == engine::sqlite) {
        return sqlite_dialect::make_waiter_store(
            std::static_pointer_cast<const sqlite_dialect::dialect>(how)
        );
    }
    // MySQL and MariaDB have no notifications for which a connection could wait.
    const bool has_notifications = how->which() == engine::postgres;
    return std::make_unique<sql_waiter_store>(
        how, has_notifications ? channel_of(how->names()) : ""
    );
}

}  // namespace leasehold
