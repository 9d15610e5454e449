// Claims runs on MySQL and MariaDB. The statements: run.sql.
#include "runs/sql_run_store.hpp"

#include "sql/mysql/dialect.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_run_store final : public sql_run_store {
public:
    explicit mysql_run_store(shared_dialect how) : sql_run_store(std::move(how)) {}

    bool claim(connection& on, const run_claim& wanted) override {
        const parameters values = values_of_claim(wanted);
        using column = columns::run::claim_on_mysql;
        const auto change = [&] { return send(on, texts_["claim"], values).rows.at(0); };
        return despite_deadlocks([&] {
            const row first = change();
            const bool is_claimed = first.integer(column::is_claimed) > 0;
            if (is_claimed || first.integer(column::has_record) == 1) return is_claimed;
            try {
                send(on, texts_["insert"], values);
                return true;
            } catch (const error& failure) {
                if (failure.native_code() != duplicate_key_code) throw;
            }
            return change().integer(column::is_claimed) > 0;
        });
    }
};

}  // namespace

std::unique_ptr<run_store> make_run_store(shared_dialect how) {
    return std::make_unique<mysql_run_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
