// On MySQL and MariaDB each statement has the columns that its list declares.
#include <cppconn/prepared_statement.h>
#include <cppconn/resultset_metadata.h>

#include "columns.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/migrate.hpp"
#include "mysql_support.hpp"
#include "support/patient.hpp"

namespace leasehold::testing_mysql {
namespace {

TEST_F(mysql_test, statements_have_the_columns_that_they_declare) {
    const table_names names{"columns_", ""};
    database_settings settings = testing::patient();
    settings.names = names;
    const database db = mysql::open(url_, settings);
    migrate(db);
    const auto raw = open_raw();
    const auto ask = [&](const std::string& text,
                         std::string& why) -> std::optional<std::vector<std::string>> {
        try {
            const std::unique_ptr<sql::PreparedStatement> made{raw->prepareStatement(text)};
            auto* const described = made->getMetaData();
            std::vector<std::string> found;
            for (unsigned at = 1; described && at <= described->getColumnCount(); ++at) {
                found.push_back(described->getColumnLabel(at).asStdString());
            }
            return found;
        } catch (const sql::SQLException& refused) {
            why = refused.what();
            return std::nullopt;
        }
    };
    const engine which = is_mariadb() ? engine::mariadb : engine::mysql;
    testing::expect_declared_columns(
        which,
        names,
        ask,
        {"health.members",
         "health.sources_mariadb",
         "health.sources_mysql",
         "hold.take_free_of",  // MariaDB tells the columns of INSERT … RETURNING when it runs
         "job.ids",
         "row_lock.lockers"}
    );
    migrate_down(db, 0);
}

}  // namespace
}  // namespace leasehold::testing_mysql
