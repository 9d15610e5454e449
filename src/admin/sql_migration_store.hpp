#pragma once
// Migrations, as far as the engines keep them alike; each engine excludes other migrators in its
// own way.
#include "admin/migration_store.hpp"
#include "admin/sql_stores.hpp"
#include "database/sql_schema_store.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

// The texts of one migration, with {prefix} and {bare} not yet filled in.
struct migration_file {
    int version;
    std::string_view up;
    std::string_view down;
};

class sql_migration_store : public migration_store, protected sql_store {
public:
    std::span<const migration> known() const override { return schema_.known(); }
    std::optional<std::vector<migration_record>> recorded(connection& on) override {
        return schema_.recorded(on);
    }
    std::string place(connection& on) override { return schema_.place(on); }
    std::vector<installation> installations(connection& on) const override;
    migration_texts texts(int version) const override;
    void record(connection& on, const migration_record& what) override;
    void forget(connection& on, int version) override;
    void drop_records(connection& on) override;
    std::string script(int from, int to) const override;

protected:
    sql_migration_store(
        std::shared_ptr<const sql_dialect> how, std::span<const migration_file> built_in
    )
        : sql_store(how, admin_sql, "migration"), schema_(std::move(how)), files_(built_in) {}

    // Sends it as a statement of the caller's, with any kind of values.
    result run(connection& on, std::string_view name, const parameters& values = {}) const;
    bool has_records(connection& on) const { return schema_.has_records(on); }
    virtual void create_records(connection& on) { run(on, "create_records"); }
    virtual std::string create_records_text() const;

private:
    std::string record_text(const migration& what) const;

    sql_schema_store schema_;
    const std::span<const migration_file> files_;
};

// The engine has transactional DDL: the lock lasts until the transaction ends. A failure of the
// commit gets through: swallowed, it would pass for an applied migration.
class transactional_migration_store : public sql_migration_store {
public:
    using sql_migration_store::sql_migration_store;
    bool migrates_in_transactions() const override { return true; }
    void unlock(connection& on, bool commit) override { commit ? on.commit() : on.rollback(); }
};

}  // namespace leasehold
