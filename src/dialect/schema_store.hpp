#pragma once
// leasehold's own tables, as far as the engines keep them alike.
#include "dialect/sql_store.hpp"
#include "store/schema_store.hpp"

namespace leasehold {

class sql_schema_store : public schema_store, protected sql_store {
public:
    std::span<const migration> known() const override { return known_; }
    std::string with_names(std::string_view text) const override;
    std::optional<std::vector<migration_record>> recorded(connection& on) override;
    void record(connection& on, const migration_record& what) override;
    void forget(connection& on, int version) override;
    void drop_records(connection& on) override;

    std::string record_sql(const migration_record& what) const override;
    std::string forget_sql(int version) const override;
    std::string create_records_sql() const override;

protected:
    sql_schema_store(std::shared_ptr<const sql_dialect> how, std::span<const migration> known)
        : sql_store(std::move(how), "schema"), known_(known) {}

    // As a statement of the caller's, whatever kind of values it has.
    result run(connection& on, std::string_view name, const parameters& values = {}) const;
    virtual bool has_records(connection& on) = 0;
    virtual void create_records(connection& on) { run(on, "create_records"); }

private:
    const std::span<const migration> known_;
};

// Where DDL is transactional: the lock lasts until the transaction ends, and a commit that failed
// is let through: swallowed, it would pass for an applied migration.
class transactional_schema_store : public sql_schema_store {
public:
    using sql_schema_store::sql_schema_store;
    bool migrates_in_transactions() const override { return true; }
    void unlock(connection& on, bool commit) override {
        if (commit) {
            on.commit();
        } else {
            on.rollback();
        }
    }
};

}  // namespace leasehold
