#include "database/sql_schema_store.hpp"

#include "database/sql_stores.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::vector<migration> built_in(engine which) {
    if (which == engine::postgres) {
        return {
#include "migration_names_postgres.inc"
        };
    }
    if (which == engine::sqlite) {
        return {
#include "migration_names_sqlite.inc"
        };
    }
    return {
#include "migration_names_mysql.inc"
    };
}

}  // namespace

sql_schema_store::sql_schema_store(std::shared_ptr<const sql_dialect> how)
    : sql_store(std::move(how), database_sql, "schema"), known_(built_in(how_->which())) {}

std::optional<std::vector<migration_record>> sql_schema_store::recorded(connection& on) {
    // If an error would end the transaction this asks first; elsewhere an error tells it for free.
    const bool is_inside = on.state() == connection_state::in_transaction;
    if (is_inside && !has_records(on)) return std::nullopt;
    std::vector<migration_record> records;
    try {
        for (const row& each : run(on, "recorded").rows) {
            records.push_back({
                .version = static_cast<int>(each.integer(0)),
                .name = each.bytes(1),
                .checksum = each.bytes(2),
                .is_finished = each.integer(3) != 0,
            });
        }
    } catch (const error& failure) {
        const bool is_gone = failure.code() == errc::schema_missing;
        if (!is_gone || on.state() == connection_state::failed) throw;
        return std::nullopt;
    }
    return records;
}

std::string sql_schema_store::place(connection& on) {
    return run(on, "place").rows.at(0).bytes(0);
}

bool sql_schema_store::has_records(connection& on) const {
    return run(on, "has_records").rows.at(0).integer(0) != 0;
}

result sql_schema_store::run(connection& on, std::string_view name) const {
    return on.execute(texts_[name].text());
}

}  // namespace leasehold
