#pragma once
// The migrations that this program knows, and those that a database says it has had: the check
// before the first use. The general MUSTs: hold_store.hpp.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"

namespace leasehold {

class sql_dialect;

struct migration {
    int version = 0;
    std::string name;
    std::string checksum;  // SHA-256 of the up file as it was built in, for any names
};

// A row of leasehold_migration.
struct migration_record {
    int version = 0;
    std::string name;
    std::string checksum;
    bool is_finished = false;
};

class schema_store {
public:
    virtual ~schema_store() = default;
    static std::unique_ptr<schema_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Oldest first.
    virtual std::span<const migration> known() const = 0;

    // nullopt if the migration table does not exist. Oldest first.
    virtual std::optional<std::vector<migration_record>> recorded(connection& on) = 0;

    // The server and the database that `on` is connected to, for people too. It differs for
    // different databases, and also for the nodes of a cluster; it may change with a fail-over. It
    // needs no right to any table.
    virtual std::string place(connection& on) = 0;
};

}  // namespace leasehold
