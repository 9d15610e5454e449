// Tests that a bad mapping is refused before anything is sent that could hurt, and that a lent
// connection is left as it was.
#include <map>
#include <mutex>

#include "claim/suite.hpp"
#include "database/database.hpp"
#include "leasehold/claim_mapping.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold::testing {
namespace {

class mapping_suite : public claim_suite {
protected:
    // The message of the error of `run`, in a transaction that can still be used after it.
    template <class Run>
    std::string refused(errc code, Run&& run) {
        const auto tx = begin();
        tx->run("UPDATE " + table_ + " SET note = 'kept' WHERE id = 10");
        const auto failure = thrown_by([&] { run(tx->ref()); });
        EXPECT_TRUE(failure) << "nothing was thrown";
        if (!failure) return "";
        EXPECT_EQ(failure->code(), code) << failure->what();
        EXPECT_EQ(
            tx->run("SELECT note FROM " + table_ + " WHERE id = 10").rows.at(0).text(0), "kept"
        );
        tx->rollback();
        return failure->what();
    }
    std::string refuse_claim(errc code, const versioned_mapping& mapping) {
        return refused(code, [&](transaction_ref tx) {
            (void)versioned_claim{mapping}.try_claim_in(tx, parameters(mapping.key.size(), 1));
        });
    }
};

class warning_log final : public observer {
public:
    void on_event(const event& what) noexcept override {
        const std::lock_guard guard{mutex_};
        if (what.kind == event_kind::warning) said_.emplace_back(what.detail);
    }
    std::vector<std::string> said() const {
        const std::lock_guard guard{mutex_};
        return said_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> said_;
};

TEST_P(mapping_suite, a_table_that_does_not_exist) {
    auto mapping = seats();
    mapping.table = "no_such_table";
    EXPECT_TRUE(contains(refuse_claim(errc::schema_mismatch, mapping), "no_such_table"));
    auto elsewhere = rows();
    elsewhere.table = {table_, "no_such_schema"};
    refused(errc::schema_mismatch, [&](transaction_ref tx) {
        (void)row_claim{elsewhere}.claim_in(tx, {1}, nowait);
    });
}

TEST_P(mapping_suite, a_missing_column_comes_with_the_statement_that_adds_it) {
    auto mapping = leased_seats();
    mapping.version = "revision";
    mapping.expires_at = "until";
    mapping.claimed_by = "who";
    const std::string said = refuse_claim(errc::schema_mismatch, mapping);
    for (const char* column : {"revision", "until", "who"}) {
        EXPECT_TRUE(contains(said, std::string("no column ") + column)) << said;
    }
    // Each of the statements works, and then nothing is missing.
    std::string rest = said;
    int added = 0;
    for (auto at = rest.find("ALTER"); at != std::string::npos; at = rest.find("ALTER", 1)) {
        rest = rest.substr(at);
        define(rest.substr(0, rest.find("; it has")));
        ++added;
    }
    EXPECT_EQ(added, 3);
    const auto tx = begin();
    const versioned_claim claims{mapping};
    EXPECT_TRUE(claims.try_claim_in(tx->ref(), {1}));
    tx->commit();
}

TEST_P(mapping_suite, a_missing_state_comes_with_a_default_of_the_kind_it_begins_with) {
    using namespace std::string_literals;
    const std::vector<state_column> states{
        {"in_words", "it's", "taken", {}},
        {"in_numbers", -1, 2, {}},
        {"in_parts", 0.25, 1.5, {}},
        {"in_bytes", blob{"\0'\xff"s}, blob{"\\"}, {}}};
    for (const state_column& state : states) {
        auto mapping = seats();
        mapping.state = state;
        const std::string said = refuse_claim(errc::schema_mismatch, mapping);
        const auto at = said.find("ALTER");
        ASSERT_NE(at, std::string::npos) << said;
        define(said.substr(at));
        const versioned_claim claims{mapping};
        const auto tx = begin();
        EXPECT_TRUE(claims.try_claim_in(tx->ref(), {1})) << state.column;
        EXPECT_FALSE(claims.try_claim_in(tx->ref(), {1})) << state.column;
        tx->commit();
    }
}

TEST_P(mapping_suite, columns_of_the_wrong_type_and_keys_that_are_not_unique) {
    auto version = seats();
    version.version = "note";
    EXPECT_TRUE(contains(refuse_claim(errc::schema_mismatch, version), "note (version)"));
    auto expiry = leased_seats();
    expiry.expires_at = "event";
    EXPECT_TRUE(contains(refuse_claim(errc::schema_mismatch, expiry), "event (time)"));
    auto key = seats();
    key.key = {"event"};
    EXPECT_TRUE(contains(refuse_claim(errc::schema_mismatch, key), "not unique"));
}

TEST_P(mapping_suite, several_rows_need_an_order) {
    auto mapping = seats();
    mapping.order.clear();
    refused(errc::invalid_argument, [&](transaction_ref tx) {
        (void)versioned_claim{mapping}.try_claim_some_in(tx, 2);
    });
    auto locked = rows();
    locked.order.clear();
    refused(errc::invalid_argument, [&](transaction_ref tx) {
        (void)row_claim{locked}.claim_some_in(tx, 2, skip_locked);
    });
    const auto tx = begin();
    EXPECT_EQ(versioned_claim{mapping}.try_claim_some_in(tx->ref(), 1).size(), 1U);
    EXPECT_EQ(row_claim{locked}.claim_some_in(tx->ref(), 1, skip_locked).rows.size(), 1U);
    tx->rollback();
}

TEST_P(mapping_suite, arguments_that_can_never_work) {
    const versioned_claim claims{seats()};
    const auto bad = errc::invalid_argument;
    const std::vector<parameters> keys{{}, {1, 2}, {nullptr}};
    for (const parameters& key : keys) {
        refused(bad, [&](transaction_ref tx) { (void)claims.try_claim_in(tx, key); });
    }
    for (const int n : {-1, 0, 1001}) {
        refused(bad, [&](transaction_ref tx) { (void)claims.try_claim_some_in(tx, n); });
        refused(bad, [&](transaction_ref tx) {
            (void)row_claim{rows()}.claim_some_in(tx, n, nowait);
        });
    }
    const std::vector<condition> conditions{
        {"no_such_column", comparison::equal, 1},
        {"event", comparison::equal, nullptr},
        {"event", comparison::is_null, 1}};
    for (const condition& each : conditions) {
        refused(bad, [&](transaction_ref tx) {
            (void)row_claim{rows()}.claim_some_in(tx, 1, nowait, {each});
        });
    }
    if (is_postgres()) {  // the only one that would answer with an error
        refused(bad, [&](transaction_ref tx) { (void)claims.try_claim_in(tx, {"three"}); });
        refused(bad, [&](transaction_ref tx) {
            (void)row_claim{rows()}.claim_some_in(tx, 1, nowait, {{"note", comparison::equal, 1}});
        });
    }
    refused(bad, [&](transaction_ref tx) {
        auto seat = claims.read_in(tx, {1});
        (void)claims.finish_in(tx, *seat);
    });
    refused(bad, [&](transaction_ref tx) {
        auto seat = claims.read_in(tx, {1});
        (void)claims.update_in(tx, *seat, {{"version", 7}});
    });
    auto plain = seats();
    plain.state = {};
    refuse_claim(bad, plain);
    plain = seats();
    plain.term = 1h;
    EXPECT_TRUE(thrown_by([&] { versioned_claim{plain}; }));
    plain = seats();
    plain.state = {"status", "free", "free"};
    EXPECT_TRUE(thrown_by([&] { versioned_claim{plain}; }));
}

TEST_P(mapping_suite, outside_of_a_transaction_nothing_is_claimed) {
    const auto idle = begin(begun::not_at_all);
    const auto by_version =
        thrown_by([&] { (void)versioned_claim{seats()}.try_claim_in(idle->ref(), {1}); });
    ASSERT_TRUE(by_version);
    EXPECT_EQ(by_version->code(), errc::wrong_transaction) << by_version->what();
    const auto by_row =
        thrown_by([&] { (void)row_claim{rows()}.claim_in(idle->ref(), {1}, nowait); });
    ASSERT_TRUE(by_row);
    EXPECT_EQ(by_row->code(), errc::wrong_transaction) << by_row->what();
    EXPECT_EQ(state_of(1), "free/1");
}

TEST_P(mapping_suite, a_failed_transaction_is_refused) {
    if (!is_postgres()) GTEST_SKIP() << "nowhere else does a statement's failure end it";
    const auto tx = begin();
    EXPECT_TRUE(thrown_by([&] { tx->run("SELECT 1 / 0"); }));
    const auto failure =
        thrown_by([&] { (void)versioned_claim{seats()}.try_claim_in(tx->ref(), {1}); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::wrong_transaction);
}

TEST_P(mapping_suite, a_transaction_of_another_engine_is_refused) {
    const versioned_claim claims{seats()};
    claims.check(way_->db);
    for (const std::string& name : way_names()) {
        const way other = open_way(name);
        if (other.db.server().engine == engine_) continue;
        const auto tx = other.begin(begun::plainly);
        const auto failure = thrown_by([&] { (void)claims.try_claim_in(tx->ref(), {1}); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::wrong_transaction) << failure->what();
        return;
    }
}

TEST_P(mapping_suite, levels_of_isolation_that_make_a_claim_unsafe_are_refused) {
    const versioned_claim versions{seats()};
    const row_claim locks{rows()};
    const auto code_of = [&](lent& tx, auto&& run) {
        const auto failure =
            thrown_by([&] { EXPECT_TRUE(run(tx.ref())) << "nothing was claimed"; });
        tx.run("SELECT 1");  // the transaction can still be used
        return failure ? failure->code() : errc{};
    };
    const auto by_version = [&](transaction_ref tx) {
        return versions.try_claim_in(tx, {1}).has_value();
    };
    const auto by_key = [&](transaction_ref tx) { return bool{locks.claim_in(tx, {2}, nowait)}; };
    const auto several = [&](transaction_ref tx) {
        return bool{locks.claim_some_in(tx, 2, skip_locked)};
    };
    const auto wrong = errc::wrong_transaction;
    const auto repeatable = begin(begun::repeatable);
    if (!repeatable) GTEST_SKIP() << "this client begins no such transaction";
    EXPECT_EQ(code_of(*repeatable, by_version), is_postgres() ? wrong : errc{});
    EXPECT_EQ(code_of(*repeatable, by_key), is_postgres() ? wrong : errc{});
    EXPECT_EQ(code_of(*repeatable, several), wrong);
    repeatable->rollback();
    const auto serializable = begin(begun::serializable);
    EXPECT_EQ(code_of(*serializable, by_version), wrong);
    EXPECT_EQ(code_of(*serializable, by_key), wrong);
    EXPECT_EQ(code_of(*serializable, several), wrong);
    serializable->rollback();
}

TEST_P(mapping_suite, settings_of_what_was_lent_stay) {
    const auto settings_in = [&](lent& tx) {
        std::map<std::string, std::string> found;
        if (engine_ == engine::sqlite) {
            for (const char* each : {"busy_timeout", "journal_mode", "synchronous", "query_only"}) {
                const value set = tx.run(std::string("PRAGMA ") + each).rows.at(0).at(0);
                const auto* text = std::get_if<std::string>(&set.held());
                found[each] = text ? *text : std::to_string(set.integer());
            }
            return found;
        }
        const result said = tx.run(
            is_postgres() ? "SELECT name::text, setting FROM pg_settings" : "SHOW SESSION VARIABLES"
        );
        for (const row& each : said.rows) {
            const std::string name = each.bytes(0);
            const bool goes_on = name.find("timestamp") != std::string::npos ||
                                 name.find("rand_seed") != std::string::npos ||
                                 name.find("gtid") != std::string::npos ||
                                 name.find("statement_id") != std::string::npos ||
                                 name.find("_count") != std::string::npos;
            if (!goes_on) found[name] = each.is_null(1) ? "" : each.bytes(1);
        }
        return found;
    };
    const auto tx = begin();
    const auto before = settings_in(*tx);
    ASSERT_GE(before.size(), 4U);
    const versioned_claim versions{leased_seats()};
    const row_claim locks{rows()};
    auto seat = versions.try_claim_in(tx->ref(), {1});
    EXPECT_EQ(versions.finish_in(tx->ref(), *seat), change_outcome::done);
    (void)versions.try_claim_some_in(tx->ref(), 2);
    (void)locks.claim_in(tx->ref(), {2}, wait_at_most(5ms));
    (void)locks.claim_some_in(tx->ref(), 2, wait_at_most(5ms));
    (void)locks.claim_some_in(tx->ref(), 2, nowait);
    EXPECT_EQ(settings_in(*tx), before);
    tx->commit();
    EXPECT_EQ(state_of(1), "sold/3") << "what was lent was rolled back";
}

TEST_P(mapping_suite, an_index_that_is_missing_is_a_warning_with_the_statement_that_makes_it) {
    define(
        is_mysql() ? "DROP INDEX " + table_ + "_ix ON " + table_ : "DROP INDEX " + table_ + "_ix"
    );
    const auto log = std::make_shared<warning_log>();
    database_settings settings;
    settings.observer = log;
    const database watched{
        [db = way_->db](std::chrono::milliseconds timeout) {
            return db.inner()->connections().connect_apart(timeout);
        },
        settings};
    row_claim{rows()}.check(watched);
    ASSERT_EQ(log->said().size(), 1U);
    const std::string said = log->said()[0];
    const auto at = said.find("CREATE INDEX");
    ASSERT_NE(at, std::string::npos) << said;
    define(said.substr(at));
    row_claim{rows()}.check(watched);
    versioned_mapping named = seats();
    named.claimed_by = "buyer";
    versioned_claim{named}.check(watched);
    EXPECT_EQ(log->said().size(), 1U);
    versioned_claim{seats()}.check(watched);
    ASSERT_EQ(log->said().size(), 2U);
    EXPECT_TRUE(contains(log->said()[1], "no column says who has claimed")) << log->said()[1];
    auto otherwise = rows();
    otherwise.order = {"event", descending("id")};
    const auto tx = begin();
    EXPECT_EQ(row_claim{otherwise}.check_in(tx->ref()).size(), 1U);
    otherwise.order = {descending("event"), descending("id")};
    EXPECT_TRUE(row_claim{otherwise}.check_in(tx->ref()).empty()) << "an index is read both ways";
    tx->rollback();
}

INSTANTIATE_TEST_SUITE_P(on, mapping_suite, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
