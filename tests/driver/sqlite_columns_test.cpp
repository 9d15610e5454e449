// On SQLite each statement has the columns that its list declares.
#include <sqlite3.h>

#include "columns.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "support/folder.hpp"

namespace leasehold {
namespace {

TEST(sqlite_columns_test, statements_have_the_columns_that_they_declare) {
    const testing::folder folder;
    const std::string path = (folder / "app.db").string();
    migrate(sqlite::open("sqlite:" + path));
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    const auto ask = [&](const std::string& text,
                         std::string& why) -> std::optional<std::vector<std::string>> {
        sqlite3_stmt* made = nullptr;
        if (sqlite3_prepare_v2(raw, text.c_str(), -1, &made, nullptr) != SQLITE_OK) {
            why = sqlite3_errmsg(raw);
            return std::nullopt;
        }
        std::vector<std::string> names;
        for (int at = 0; at < sqlite3_column_count(made); ++at) {
            names.emplace_back(sqlite3_column_name(made, at));
        }
        sqlite3_finalize(made);
        return names;
    };
    testing::expect_declared_columns(engine::sqlite, {}, ask);
    sqlite3_close(raw);
}

}  // namespace
}  // namespace leasehold
