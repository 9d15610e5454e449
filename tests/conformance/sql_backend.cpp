#include "conformance/sql_backend.hpp"

#include <algorithm>

#include "database/database.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/migrate.hpp"
#include "support/patient.hpp"

namespace leasehold::testing {
namespace {

// The row, and the span that is subtracted from its times.
struct aged {
    std::string table;
    const char* id_column;
    value id;
    std::string ago;
};

aged aged_by(const std::string& ago, std::chrono::microseconds by, aged row) {
    row.ago = ago;
    row.ago.replace(row.ago.find("MICROS"), 6, std::to_string(by.count()));
    return row;
}

// Shifts the times of one row into the past. Returns the number of changed rows.
std::int64_t age(
    const database& db,
    const sql_words& words,
    const aged& row,
    std::initializer_list<const char*> columns
) {
    std::string sql = "UPDATE " + row.table + " SET ";
    bool is_first = true;
    for (const char* column : columns) {
        if (!is_first) sql += ", ";
        is_first = false;
        sql += std::string(column) + " = " + column + " - " + row.ago;
    }
    sql += std::string(" WHERE ") + row.id_column + " = " + words.placeholder;
    transaction tx = db.begin();
    const auto changed = tx.execute(sql, {row.id}).affected_rows;
    tx.commit();
    return changed;
}

void age_one(
    const database& db,
    const sql_words& words,
    const aged& row,
    std::initializer_list<const char*> columns
) {
    if (age(db, words, row, columns) != 1) throw std::runtime_error("no such row in " + row.table);
}

void run(const database& db, const std::string& sql) {
    transaction tx = db.begin();
    tx.execute(sql);
    tx.commit();
}

void add_ages(
    backend& made, const database& own, const std::string& prefix, const sql_words& words
) {
    made.age_session = [=](const session_id& id, std::chrono::microseconds by) {
        const aged row{prefix + "session", "id", blob{id.bytes()}, {}};
        age_one(
            own,
            words,
            aged_by(words.micros_ago, by, row),
            {"started_at", "heartbeat_at", "expires_at"}
        );
    };
    made.age_lock = [=](const key& locked, std::chrono::microseconds by) {
        const aged row{prefix + "lock", "lock_key", blob{locked.name()}, {}};
        age_one(own, words, aged_by(words.micros_ago, by, row), {"changed_at", "expires_at"});
    };
    made.age_run = [=](const key& task, std::chrono::microseconds by) {
        const aged row{prefix + "run", "name", blob{task.name()}, {}};
        age_one(
            own,
            words,
            aged_by(words.micros_ago, by, row),
            {"started_at", "opens_at", "finished_at"}
        );
    };
    made.age_job = [=](job_id id, std::chrono::microseconds by) {
        const aged row{prefix + "job", "id", id, {}};
        age(own,
            words,
            aged_by(words.job_micros_ago, by, row),
            {"enqueued_at", "available_at", "due_at", "claimed_at"});
        const aged ended{prefix + "job_history", "id", id, {}};
        age(own, words, aged_by(words.job_micros_ago, by, ended), {"ended_at", "prune_at"});
    };
    made.age_queue = [=](const std::string& name, std::chrono::microseconds by) {
        const aged row{prefix + "queue", "name", name, {}};
        age_one(own, words, aged_by(words.job_micros_ago, by, row), {"starts_from", "swept_at"});
    };
}

void add_counter(backend& made, const database& own, const std::string& table) {
    made.increment_counter = [=](connection& inside) {
        const auto n = inside.execute("SELECT n FROM " + table).rows.at(0).integer(0);
        inside.execute("UPDATE " + table + " SET n = " + std::to_string(n + 1));
    };
    made.read_counter = [=] {
        transaction tx = own.begin();
        return tx.execute("SELECT n FROM " + table).rows.at(0).integer(0);
    };
}

sql_users::opener with_prefix(sql_users::opener open, const std::string& prefix) {
    return [open = std::move(open), prefix](database_settings settings) {
        settings.names.prefix = prefix;
        return open(std::move(settings));
    };
}

void make_tables(
    const database& own,
    const std::string& counter,
    const sql_words& words,
    const std::string& program_name
) {
    migrate(own);
    run(own, "CREATE TABLE " + counter + " (n " + words.counter_type + " NOT NULL)");
    run(own, "INSERT INTO " + counter + " (n) VALUES (0)");
    if (program_name.empty()) return;
    const auto grants = grants_sql(own.server().engine, own.settings().names, program_name);
    own.inner()->use_unchecked([&](connection& on, store_set&) {
        on.execute_script(grants);
        on.execute("GRANT SELECT, UPDATE ON " + counter + " TO " + program_name);
    });
}

}  // namespace

backend make_sql_backend(
    std::string name, const sql_words& words, const sql_users& users, std::string prefix
) {
    const auto own = std::make_shared<database>(with_prefix(users.owner, prefix)(patient()));
    backend made;
    made.name = std::move(name);
    made.open = with_prefix(users.program, prefix);
    made.open_as_owner = with_prefix(users.owner, prefix);
    made.open_through = [open = made.open](std::shared_ptr<gate> through) {
        const database behind = open({});
        return database{gated_connector(behind, std::move(through)), behind.settings()};
    };
    made.open_told_with_prefix =
        [open = users.owner](
            const std::string& other, const backend::wrapper& wrap, backend::told by
        ) {
            database_settings settings;
            settings.observer = std::move(by);
            settings.names.prefix = other;
            if (!wrap) {
                // Tables are made and dropped, which a disk that others use too may take long for.
                settings.statement_timeout = std::chrono::seconds{10};
                return open(settings);
            }
            const database plain = open(settings);
            const auto connect = [plain](std::chrono::milliseconds timeout) {
                return plain.inner()->connections().connect_apart(timeout);
            };
            return database{wrap(connect), settings};
        };
    made.names_with_prefix = [=](const std::string& other) { return names_in(*own, words, other); };
    add_ages(made, *own, prefix, words);
    made.remove_session_row = [=](const session_id& id) {
        transaction tx = own->begin();
        tx.execute(
            "DELETE FROM " + prefix + "session WHERE id = " + words.placeholder, {blob{id.bytes()}}
        );
        tx.commit();
    };
    made.make_tables = [=, program = users.program_name] {
        make_tables(*own, prefix + "counter", words, program);
    };
    add_counter(made, *own, prefix + "counter");
    // Uses a connection of its own: those of a server that was killed in between are broken.
    made.destroy = [=, reopen = made.open_as_owner] {
        const database later = reopen(patient());
        run(later, "DROP TABLE " + prefix + "counter");
        run(later, "DELETE FROM " + prefix + "session");
        migrate_down(later, 0);
    };
    return made;
}

std::vector<std::string> names_in(
    const database& db, const sql_words& words, const std::string& prefix
) {
    transaction tx = db.begin();
    std::vector<std::string> names;
    for (const row& each : tx.execute(words.names_with_prefix, {prefix}).rows) {
        names.push_back(each.text(0));
    }
    std::sort(names.begin(), names.end());
    return names;
}

forbidden_place::outcome try_there(
    const database& db,
    const forbidden_place::attempt& attempt,
    const database& afterwards,
    const sql_words& words,
    const std::string& prefix
) {
    forbidden_place::outcome found;
    try {
        attempt(db);
    } catch (const error& failure) {
        found.thrown = failure;
    }
    found.left = names_in(afterwards, words, prefix);
    return found;
}

void run_in_new_database(
    const database& own,
    const std::string& creates,
    const std::string& drops,
    const std::function<database()>& open,
    const backend::visit& visit
) {
    run_alone(own, {creates});
    try {
        const database there = open();
        migrate(there);
        visit(there);
    } catch (...) {
        run_alone(own, {drops});  // the next test makes a database of this name
        throw;
    }
    run_alone(own, {drops});
}

void run_alone(const database& db, std::initializer_list<std::string> statements) {
    db.inner()->use_unchecked([&](connection& on, store_set&) {
        for (const std::string& each : statements) on.execute(each);
    });
}

}  // namespace leasehold::testing
