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
    using column = columns::schema::recorded;
    std::vector<migration_record> records;
    try {
        for (const row& each : run(on, "recorded").rows) {
            records.push_back({
                .version = static_cast<int>(each.integer(column::version)),
                .name = each.bytes(column::name),
                .checksum = each.bytes(column::checksum),
                .is_finished = each.integer(column::is_finished) != 0,
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
    return only_text(run(on, "place"));
}

bool sql_schema_store::has_records(connection& on) const {
    return only_integer(run(on, "has_records")) != 0;
}

result sql_schema_store::run(connection& on, std::string_view name) const {
    return on.execute(texts_[name].text());
}

}  // namespace leasehold
