#pragma once
// The check of the schema, on all engines.
#include "database/schema_store.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_schema_store final : public schema_store, sql_store {
public:
    explicit sql_schema_store(std::shared_ptr<const sql_dialect> how);

    std::span<const migration> known() const override { return known_; }
    std::optional<std::vector<migration_record>> recorded(connection& on) override;
    std::string place(connection& on) override;
    // Asks for the table of migrations, without an error if there is none.
    bool has_records(connection& on) const;

private:
    result run(connection& on, std::string_view name) const;

    const std::vector<migration> known_;
};

}  // namespace leasehold
