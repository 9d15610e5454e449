// On MySQL and MariaDB this proves rights before it makes triggers. The statements: history.sql.
#include "admin/sql_history_store.hpp"

#include "sql/mysql/dialect.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_history_store final : public sql_history_store {
public:
    using sql_history_store::sql_history_store;

    // Each change of a trigger is committed by itself.
    void start(connection& on, std::optional<std::chrono::microseconds> keep) override {
        for (const char* each : {"prove_rights", "prove_right_to_turn"}) inside(on, each);
        sql_history_store::start(on, keep);
    }

    bool has_triggers(connection& on) override {
        std::vector<std::string> texts;
        for (const char* each : {"grant_trigger", "share_trigger", "replace_trigger"}) {
            texts.emplace_back(texts_.source(each));
        }
        return are_all_in(read(on, "triggers"), texts);
    }
};

}  // namespace

std::unique_ptr<history_store> make_history_store(shared_dialect how) {
    return std::make_unique<mysql_history_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
