// Statements: how a text becomes what a driver takes, and the files of every engine.
#include "sql/statements.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "admin/sql_stores.hpp"
#include "database/sql_stores.hpp"
#include "locks/sql_stores.hpp"
#include "runs/sql_stores.hpp"
#include "session/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {
namespace {

const parameters abc{"a", "b", "c"};

TEST(statement_test, elsewhere_each_place_has_a_parameter_of_its_own) {
    for (const engine which : {engine::mysql, engine::mariadb, engine::sqlite}) {
        const statement made{"$3 = $1 OR $1", which};
        EXPECT_EQ(made.text(), "? = ? OR ?");
        EXPECT_EQ(made.placed(abc), (parameters{"c", "a", "a"}));
        EXPECT_FALSE(made.takes_as_given(3));
    }
    EXPECT_TRUE((statement{"$1, $2", engine::mysql}.takes_as_given(2)));
    EXPECT_FALSE((statement{"$1, $2", engine::mysql}.takes_as_given(3)));
}

TEST(statement_test, postgres_has_numbers_without_a_gap) {
    const statement made{"$3::bytea = $1 OR $1", engine::postgres};
    EXPECT_EQ(made.text(), "$2::bytea = $1 OR $1");
    EXPECT_EQ(made.placed(abc), (parameters{"a", "c"}));
    const statement ten{"$1 $2 $3 $4 $5 $6 $7 $8 $9 $10", engine::postgres};
    EXPECT_TRUE(ten.takes_as_given(10));
    EXPECT_EQ(ten.text(), "$1 $2 $3 $4 $5 $6 $7 $8 $9 $10");
}

TEST(statement_test, sqlite_is_told_the_clock_and_the_boot) {
    const statement made{"{now} $2 {wall} {boot} {other} '$'", engine::sqlite};
    EXPECT_EQ(made.text(), "? ? ? ? {other} '$'");
    const auto outside = [](int which) { return value{which}; };
    EXPECT_EQ(
        made.placed(abc, outside),
        (parameters{statement::now, "b", statement::wall, statement::boot})
    );
    EXPECT_EQ((statement{"{now}", engine::postgres}.text()), "{now}");
}

TEST(statement_test, a_packet_is_known_by_its_words) {
    const auto form_of = [](std::string_view text) {
        return statement{text, engine::mysql}.what();
    };
    EXPECT_EQ(form_of("DELETE FROM t"), statement::form::single);
    EXPECT_EQ(form_of("DELETE FROM t;\nUPDATE t SET a = 1"), statement::form::script);
    EXPECT_EQ(form_of("DELETE FROM t;\nSELECT ROW_COUNT()"), statement::form::packet);
    EXPECT_EQ(form_of("START TRANSACTION;\nCOMMIT"), statement::form::transaction);
}

TEST(list_statement_test, whatever_the_number_each_is_asked_about_once) {
    for (const engine which : {engine::postgres, engine::mysql, engine::sqlite}) {
        const list_statement list{"SELECT number FROM ({asked})", which};
        for (const std::size_t count : {0U, 1U, 3U, 16U, 257U, 600U}) {
            const auto values_of = [](std::size_t at) {
                const auto number = static_cast<std::int64_t>(at);
                return parameters{number, number, number};
            };
            // Says of each place that there is an answer.
            const auto send = [](const statement& what, const parameters& values) {
                result found;
                EXPECT_EQ(what.placed(values), values);
                for (std::size_t at = 0; at * 3 < values.size(); ++at) {
                    found.rows.push_back({{static_cast<std::int64_t>(at), values[at * 3]}});
                }
                return found;
            };
            std::set<std::size_t> answered;
            list.ask(count, values_of, send, [&](std::size_t at, const row& each) {
                EXPECT_EQ(each.integer(1), static_cast<std::int64_t>(at));
                answered.insert(at);
            });
            EXPECT_EQ(answered.size(), count);
        }
    }
}

class every_engine : public ::testing::TestWithParam<engine> {};

// The sender of a statement fills in the placeholders that are left in braces.
TEST_P(every_engine, has_fragments_for_all_that_its_statements_say) {
    const std::set<std::string> later{
        "{asked}",      "{asked_rest}", "{connection}", "{keys}", "{list}",   "{locked}",
        "{node_infos}", "{now}",        "{wall}",       "{boot}", "{owned}",  "{owners}",
        "{prepared}",   "{queued}",     "{rest}",       "{rows}", "{schema}", "{sessions}",
        "{size}",       "{table}",      "{tokens}",     "{user}"};
    std::vector<std::pair<const sql_source&, std::string>> files{
        {database_sql, "schema"},
        {session_sql, "session"},
        {session_sql, "upkeep"},
        {locks_sql, "fence"},
        {locks_sql, "hold"},
        {locks_sql, "holder"},
        {locks_sql, "multi_lock"},
        {locks_sql, "row_lock"},
        {locks_sql, "waiter"},
        {runs_sql, "run"},
        {admin_sql, "installations"},
        {admin_sql, "migration"}};
    if (GetParam() == engine::sqlite) files.emplace_back(shared_sql, "boot");
    for (const auto& [room, file] : files) {
        const statements texts{GetParam(), room, file, {"x_", ""}};
        for (const std::string& name : texts.names()) {
            const std::string& source = texts.source(name);
            EXPECT_FALSE(source.empty()) << file << ' ' << name;
            for (auto at = source.find('{'); at != std::string::npos;
                 at = source.find('{', at + 1)) {
                const std::string placeholder = source.substr(at, source.find('}', at) + 1 - at);
                EXPECT_TRUE(later.contains(placeholder))
                    << file << ' ' << name << ' ' << placeholder;
                const bool is_filled_in = GetParam() == engine::sqlite || placeholder != "{now}";
                EXPECT_TRUE(is_filled_in) << file << ' ' << name;
            }
        }
    }
}

TEST_P(every_engine, a_name_that_is_not_there_is_an_error) {
    const statements texts{GetParam(), locks_sql, "hold", {}};
    EXPECT_EQ(texts.find("no_such_statement"), nullptr);
    EXPECT_THROW(texts["no_such_statement"], std::logic_error);
    EXPECT_THROW(texts.source("no_such_statement"), std::logic_error);
    EXPECT_THROW(texts.list("release"), std::logic_error);
    EXPECT_THROW((statements{GetParam(), locks_sql, "no_such_file", {}}), std::logic_error);
    EXPECT_FALSE(texts["release"].text().empty());
}

INSTANTIATE_TEST_SUITE_P(
    statements,
    every_engine,
    ::testing::Values(engine::postgres, engine::mysql, engine::mariadb, engine::sqlite)
);

TEST(statements_test, a_fragment_can_be_of_one_engine) {
    const auto burying = [](engine which) {
        return statements{which, locks_sql, "holder", {}}.source("bury");
    };
    EXPECT_NE(burying(engine::mysql).find("FOR SHARE SKIP LOCKED"), std::string::npos);
    EXPECT_NE(burying(engine::mariadb).find("LOCK IN SHARE MODE SKIP"), std::string::npos);
}

TEST(statements_test, a_cluster_has_statements_and_fragments_of_its_own) {
    const auto text = [](const std::string& file, const char* name, written_nodes written) {
        const sql_source& room = file == "upkeep" ? session_sql : locks_sql;
        return statements{engine::mariadb, room, file, {}, written}.source(name);
    };
    for (const auto& [file, name] :
         {std::pair{"hold", "prove"}, {"holder", "prove"}, {"multi_lock", "prove_all"}}) {
        EXPECT_EQ(text(file, name, written_nodes::one).find("proofs"), std::string::npos) << file;
        EXPECT_NE(text(file, name, written_nodes::several).find("proofs"), std::string::npos);
    }
    // A proof of death changes the row of the dead, and locks none of it for reading alone.
    for (const auto& [file, name] :
         {std::pair{"hold", "try_acquire"},
          {"hold", "insert_and_acquire"},
          {"holder", "bury"},
          {"multi_lock", "take"},
          {"waiter", "serve"},
          {"upkeep", "free_lock"},
          {"upkeep", "remove_dead"}}) {
        const std::string touch = "notices = ";
        EXPECT_EQ(text(file, name, written_nodes::one).find(touch), std::string::npos) << name;
        const std::string there = text(file, name, written_nodes::several);
        EXPECT_NE(there.find(touch), std::string::npos) << file << ' ' << name;
        EXPECT_EQ(there.find("IN SHARE MODE SKIP"), std::string::npos) << file << ' ' << name;
    }
}

}  // namespace
}  // namespace leasehold
