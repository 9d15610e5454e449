// On PostgreSQL triggers call functions, which know their tables by their own schema. The
// statements: history.sql.
#include "admin/sql_history_store.hpp"

#include "sql/postgres/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

class postgres_history_store final : public sql_history_store {
public:
    using sql_history_store::sql_history_store;

private:
    bool has_triggers(connection& on) override {
        const std::string where = schema_of_tables(on);
        std::vector<std::string> texts;
        for (const char* each : {"grant_function", "share_function"}) {
            texts.push_back(replaced(texts_.source(each), "{where}", where));
        }
        return are_all_in(read(on, "triggers"), texts);
    }

    void drop_triggers(connection& on) override {
        const std::string where = schema_of_tables(on);
        // DROP TRIGGER excludes even sessions that only read, also if there is no such trigger.
        if (!read(on, "any_trigger").rows.empty()) {
            for (const char* each :
                 {"drop_grant_trigger", "drop_share_trigger", "drop_replace_trigger"}) {
                define_in(on, where, each);
            }
        }
        for (const char* each : {"drop_grant_function", "drop_share_function"}) {
            define_in(on, where, each);
        }
    }

    void make_triggers(connection& on) override {
        const std::string where = schema_of_tables(on);
        for (const char* each :
             {"grant_function",
              "share_function",
              "keep_grant_function",
              "keep_share_function",
              "grant_trigger",
              "share_trigger",
              "replace_trigger"}) {
            define_in(on, where, each);
        }
    }

    void define_in(connection& on, const std::string& where, const char* name) const {
        on.execute(replaced(texts_.source(name), "{where}", where));
    }

    std::string schema_of_tables(connection& on) const {
        return quoted_identifier(only_text(read(on, "schema_of_tables")), '"');
    }
};

}  // namespace

std::unique_ptr<history_store> make_history_store(shared_dialect how) {
    return std::make_unique<postgres_history_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
