#include "core/statement_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"
#include "sql/transaction_words.hpp"
#include "unit/idle_connection.hpp"

namespace leasehold {
namespace {

TEST(statement_words, statements_that_begin_or_end_a_transaction_are_known) {
    for (const char* each : {
             "BEGIN",
             "begin immediate",
             " ;\t-- first\n/* then */ Begin Transaction",
             "START TRANSACTION READ ONLY",
             "start/**/transaction",
             "COMMIT",
             "commit;",
             "COMMIT AND CHAIN",
             "END",
             "ABORT",
             "ROLLBACK",
             "rollback work",
             "ROLLBACK TRANSACTION",
             "# of MySQL\nROLLBACK",
             "PREPARE TRANSACTION 'x'",
             "/*! COMMIT */",
             "/*!50001COMMIT*/",
             "/*M! ROLLBACK */",
             "\xEF\xBB\xBF"
             "COMMIT",
         }) {
        EXPECT_TRUE(is_transaction_control(each, engine::mysql)) << each;
    }
}

TEST(statement_words, all_others_are_left_alone) {
    for (const char* each : {
             "",
             " -- nothing",
             "/* not closed",
             "SELECT 'COMMIT'",
             "/* COMMIT */ SELECT 1",
             "SAVEPOINT a",
             "RELEASE SAVEPOINT a",
             "ROLLBACK TO a",
             "ROLLBACK WORK TO SAVEPOINT a",
             "ROLLBACK PREPARED 'x'",
             "COMMIT PREPARED 'x'",
             "START REPLICA",
             "PREPARE q AS SELECT 1",
             "BEGIN NOT ATOMIC SELECT 1; END",
             "ENDED",
             "UPDATE t SET a = 1",
         }) {
        EXPECT_FALSE(is_transaction_control(each, engine::mysql)) << each;
    }
}

TEST(statement_words, each_engine_reads_comments_in_its_own_way) {
    EXPECT_FALSE(is_transaction_control("/*! COMMIT */ SELECT 1", engine::postgres));
    EXPECT_TRUE(is_transaction_control("/* a /* b */ c */ COMMIT", engine::postgres));
    EXPECT_FALSE(is_transaction_control("/* a /* b */ c */ COMMIT", engine::mysql));
    EXPECT_FALSE(is_transaction_control("$$ COMMIT $$", engine::postgres));
}

TEST(statement_words, words_are_read_up_to_their_limit) {
    using words = std::vector<std::string>;
    EXPECT_EQ(
        statement_words("create_1 'x y' [z] Tab2,c", engine::sqlite, 9),
        (words{"CREATE_1", "TAB2", "C"})
    );
    EXPECT_EQ(statement_words("a b c", engine::sqlite, 2), (words{"A", "B"}));
    EXPECT_EQ(statement_words(" -- a", engine::sqlite, 2), words{});
}

TEST(statement_words, scripts_are_split_at_semicolons) {
    using parts = std::vector<std::string_view>;
    const auto split = [](std::string_view script) { return statements_in(script, engine::mysql); };
    EXPECT_EQ(split("a;b"), (parts{"a", "b"}));
    EXPECT_EQ(split("a;b;"), (parts{"a", "b"}));
    EXPECT_EQ(split(" a ;\n b \n"), (parts{" a ", "\n b \n"}));
    EXPECT_EQ(split(";;a;; ;"), (parts{"a"}));
    EXPECT_EQ(split(""), parts{});
    EXPECT_EQ(split(" ; \t\r\n; "), parts{});
    EXPECT_EQ(split("SELECT ';' ; `;` ; \";\""), (parts{"SELECT ';' ", " `;` ", " \";\""}));
    EXPECT_EQ(split("a /* ; */; b # ;\n; c -- ;"), (parts{"a /* ; */", " b # ;\n", " c -- ;"}));
    EXPECT_EQ(split("-- first ;\na; /* last; */ -- ;\n"), (parts{"-- first ;\na"}));
    EXPECT_EQ(
        split("/*!80000 SET a=1 */; /*M! SET b=1 */"),
        (parts{"/*!80000 SET a=1 */", " /*M! SET b=1 */"})
    );
    EXPECT_EQ(
        statements_in("a $$;$$; /*! b; */ 'c;'", engine::postgres),
        (parts{"a $$;$$", " /*! b; */ 'c;'"})
    );
}

// A fail-over may have made the connection useless while the answer was on its way.
TEST(execute, what_was_done_is_answered_though_the_connection_is_lost) {
    testing::record made;
    made.which = engine::postgres;
    const database db{[&](std::chrono::milliseconds) {
        return std::make_unique<testing::idle_connection>(made);
    }};
    made.is_lost_by_answer = true;
    EXPECT_EQ(db.execute("INSERT").rows.at(0).integer(0), 1);
}

}  // namespace
}  // namespace leasehold
