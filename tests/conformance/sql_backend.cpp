#include "conformance/sql_backend.hpp"

namespace leasehold::testing {
namespace {

// Shifts the times of one row into the past.
void age(
    const database& db, const sql_words& words, const std::string& table,
    std::initializer_list<const char*> columns, const char* id_column, const blob& id,
    std::chrono::microseconds by
) {
    std::string sql = "UPDATE " + table + " SET ";
    bool is_first = true;
    for (const char* column : columns) {
        if (!is_first) sql += ", ";
        is_first = false;
        std::string ago = words.micros_ago;
        ago.replace(ago.find("MICROS"), 6, std::to_string(by.count()));
        sql += std::string(column) + " = " + column + " - " + ago;
    }
    sql += std::string(" WHERE ") + id_column + " = " + words.placeholder;
    transaction tx = db.begin();
    if (tx.execute(sql, {id}).affected_rows != 1) throw std::runtime_error("no such row: " + sql);
    tx.commit();
}

}  // namespace

backend make_sql_backend(
    std::string name, const sql_words& words, std::function<database(database_settings)> open,
    std::string prefix
) {
    const auto open_ours = [open, prefix](database_settings settings) {
        settings.names.prefix = prefix;
        return open(std::move(settings));
    };
    const auto own = std::make_shared<database>(open_ours({}));
    const auto run = [own](const std::string& sql) {
        transaction tx = own->begin();
        tx.execute(sql);
        tx.commit();
    };
    backend made;
    made.name = std::move(name);
    made.open = open_ours;
    made.open_through = [=](std::shared_ptr<gate> through) {
        database_settings settings;
        settings.names.prefix = prefix;
        return database{gated_connector(*own, std::move(through)), settings};
    };
    made.age_session = [=](const session_id& id, std::chrono::microseconds by) {
        age(*own, words, prefix + "session", {"started_at", "heartbeat_at", "expires_at"}, "id",
            blob{id.bytes()}, by);
    };
    made.age_lock = [=](const key& locked, std::chrono::microseconds by) {
        age(*own, words, prefix + "lock", {"changed_at", "expires_at"}, "lock_key",
            blob{locked.name()}, by);
    };
    made.remove_session_row = [=](const session_id& id) {
        transaction tx = own->begin();
        tx.execute(
            "DELETE FROM " + prefix + "session WHERE id = " + words.placeholder, {blob{id.bytes()}}
        );
        tx.commit();
    };
    made.make_counter = [=] {
        run("CREATE TABLE " + prefix + "counter (n " + words.counter_type + " NOT NULL)");
        run("INSERT INTO " + prefix + "counter (n) VALUES (0)");
    };
    made.increment_counter = [=](connection& inside) {
        const auto n = inside.execute("SELECT n FROM " + prefix + "counter").rows.at(0).integer(0);
        inside.execute("UPDATE " + prefix + "counter SET n = " + std::to_string(n + 1));
    };
    made.read_counter = [=] {
        transaction tx = own->begin();
        return tx.execute("SELECT n FROM " + prefix + "counter").rows.at(0).integer(0);
    };
    made.destroy = [=] {
        run("DROP TABLE " + prefix + "counter");
        run("DELETE FROM " + prefix + "session");
        migrate_down(*own, 0);
    };
    return made;
}

}  // namespace leasehold::testing
