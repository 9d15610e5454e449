// schema/<engine>.sql and schema/README.md say what the migrations make, and nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {
namespace {

std::string contents(const std::string& name) {
    std::ifstream file{std::string(LEASEHOLD_SOURCE_DIR) + "/schema/" + name};
    std::ostringstream text;
    text << file.rdbuf();
    if (text.str().empty()) throw std::runtime_error("there is no schema/" + name);
    return text.str();
}

// The rows that both ways of making the tables must leave in them.
std::vector<std::string> rows_of(const place& where) {
    return where.open().inner()->use_unchecked([](connection& on, store_set&) {
        auto lines = lines_of(on, "SELECT * FROM leasehold_fence_mark");
        const auto records = lines_of(
            on, "SELECT version, name, checksum, finished FROM leasehold_migration ORDER BY version"
        );
        lines.insert(lines.end(), records.begin(), records.end());
        return lines;
    });
}

TEST(schema_test, the_schema_file_makes_what_the_migrations_make) {
    const place migrated, loaded;
    migrate(migrated.open());
    loaded.load(contents(place::schema_file()));
    const auto shape = migrated.shape();
    EXPECT_GT(shape.size(), 20u) << "the engine was not asked properly";
    EXPECT_EQ(loaded.shape(), shape) << place::schema_file();
    EXPECT_EQ(rows_of(loaded), rows_of(migrated)) << place::schema_file();
    EXPECT_NO_THROW(require_schema(loaded.open()));
    EXPECT_TRUE(migrate(loaded.open()).empty());
    session one{loaded.open(), {.name = "probe"}};
    EXPECT_TRUE(mutex(one, "probe").try_acquire());
}

TEST(schema_test, the_sql_for_review_makes_what_the_migrations_make) {
    const place migrated, by_hand;
    migrate(migrated.open());
    by_hand.load(migration_sql(migrated.open().server().engine, {}));
    EXPECT_EQ(by_hand.shape(), migrated.shape());
    EXPECT_EQ(rows_of(by_hand), rows_of(migrated));
}

TEST(schema_test, down_leaves_nothing_and_up_again_makes_the_same) {
    const place here;
    migrate(here.open());
    const auto shape = here.shape();
    migrate_down(here.open(), 0);
    EXPECT_EQ(here.shape(), std::vector<std::string>{});
    migrate(here.open());
    EXPECT_EQ(here.shape(), shape);
}

// The comparison above would be worth nothing if it overlooked these.
TEST(schema_test, every_kind_of_difference_is_seen) {
    const place here;
    migrate(here.open());
    auto before = here.shape();
    for (const std::string& statement : place::alterations()) {
        run_in(here.open(), {statement});
        const auto after = here.shape();
        EXPECT_NE(after, before) << statement;
        before = after;
    }
}

// The data dictionary: "## `table`" headings, and below each a row "| `column` |" per column. What
// one engine alone has says so.
std::set<std::string> documented_columns(bool is_sqlite) {
    std::istringstream page{contents("README.md")};
    std::set<std::string> found;
    std::string table;
    for (std::string line; std::getline(page, line);) {
        const bool is_heading = line.starts_with("## `");
        if (!is_heading && !line.starts_with("| `")) continue;
        const auto first = line.find('`') + 1;
        const std::string name = line.substr(first, line.find('`', first) - first);
        if (is_heading) {
            table = name;
        } else if (is_sqlite || line.find("SQLite only") == std::string::npos) {
            found.insert(table + "." + name);
        }
    }
    return found;
}

TEST(schema_test, the_data_dictionary_has_every_table_and_column) {
    const place here;
    migrate(here.open());
    const auto columns = here.columns();
    EXPECT_EQ(
        documented_columns(here.open().server().engine == engine::sqlite),
        std::set<std::string>(columns.begin(), columns.end())
    );
}

}  // namespace
}  // namespace leasehold::testing
