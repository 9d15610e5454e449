// On PostgreSQL each statement has the columns that its list declares.
#include "columns.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/migrate.hpp"
#include "postgres_support.hpp"
#include "support/patient.hpp"

namespace leasehold::testing_postgres {
namespace {

TEST_F(postgres_test, statements_have_the_columns_that_they_declare) {
    const table_names names{"columns_", ""};
    database_settings settings = testing::patient();
    settings.names = names;
    const database db = postgres::open(url_, settings);
    migrate(db);
    const auto raw = open_raw();
    const auto ask = [&](const std::string& text,
                         std::string& why) -> std::optional<std::vector<std::string>> {
        PGresult* made = PQprepare(raw.get(), "", text.c_str(), 0, nullptr);
        const bool is_known = PQresultStatus(made) == PGRES_COMMAND_OK;
        if (!is_known) why = PQresultErrorMessage(made);
        PQclear(made);
        if (!is_known) return std::nullopt;
        PGresult* described = PQdescribePrepared(raw.get(), "");
        std::vector<std::string> found;
        for (int at = 0; at < PQnfields(described); ++at) {
            found.emplace_back(PQfname(described, at));
        }
        PQclear(described);
        return found;
    };
    testing::expect_declared_columns(engine::postgres, names, ask);
    migrate_down(db, 0);
}

}  // namespace
}  // namespace leasehold::testing_postgres
