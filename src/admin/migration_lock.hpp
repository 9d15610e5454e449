#pragma once
#include <chrono>

#include "admin/migration_store.hpp"

namespace leasehold {

// Holds the migrators' lock; without commit() a transaction is rolled back.
class migration_lock {
public:
    migration_lock(connection& on, migration_store& schema, std::chrono::milliseconds timeout)
        : on_(on), schema_(schema) {
        schema_.lock(on_, timeout);
    }
    ~migration_lock() {
        if (!is_released_) schema_.unlock(on_, false);
    }
    migration_lock(const migration_lock&) = delete;
    migration_lock& operator=(const migration_lock&) = delete;
    void commit() {
        is_released_ = true;
        schema_.unlock(on_, true);
    }

private:
    connection& on_;
    migration_store& schema_;
    bool is_released_ = false;
};

}  // namespace leasehold
