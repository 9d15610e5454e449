#pragma once
// leasehold's own tables under a prefix of the test's, and what is recorded of them.
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "admin/migration_store.hpp"
#include "conformance/suite.hpp"
#include "database/database.hpp"
#include "leasehold/migrate.hpp"
#include "sql/sql_text.hpp"
#include "support/required.hpp"

namespace leasehold::testing {

using records = std::optional<std::vector<migration_record>>;

class migrate_suite : public ::testing::Test {
protected:
    // On the model the tables are there from the start; elsewhere this does nothing.
    void SetUp() override { migrate_down(db_, 0); }

    void TearDown() override {
        EXPECT_EQ(names(), std::vector<std::string>{});
        clear();
    }

    database another(const backend::wrapper& wrap = nullptr) const {
        return current().open_with_prefix(prefix_, wrap);
    }

    // The names that begin with the prefix; nothing on the model, which has no names.
    std::vector<std::string> names() const {
        return has_sql() ? current().names_with_prefix(prefix_) : std::vector<std::string>{};
    }
    static bool has_sql() { return static_cast<bool>(current().names_with_prefix); }

    template <class Use>
    auto on_schema(Use&& use) const {
        return db_.inner()->use_unchecked([&](connection& on, store_set& stores) {
            return use(on, stores.get<migration_store>());
        });
    }
    records recorded() const {
        return on_schema([](connection& on, migration_store& schema) { return schema.recorded(on); }
        );
    }
    void record(const migration_record& what) const {
        on_schema([&](connection& on, migration_store& schema) { schema.record(on, what); });
    }
    void forget(int version) const {
        on_schema([&](connection& on, migration_store& schema) { schema.forget(on, version); });
    }
    std::vector<migration> known() const {
        return on_schema([](connection&, migration_store& schema) {
            return std::vector<migration>(schema.known().begin(), schema.known().end());
        });
    }
    migration_texts texts(const migration& of) const {
        return on_schema([&](connection&, migration_store& schema) {
            return schema.texts(of.version);
        });
    }
    int newest() const { return known().back().version; }
    bool migrates_in_transactions() const {
        return on_schema([](connection&, migration_store& schema) {
            return schema.migrates_in_transactions();
        });
    }
    migration_record first_as_known(bool is_finished) const {
        const migration first = known().front();
        return {first.version, first.name, first.checksum, is_finished};
    }

    void expect_whole() const {
        EXPECT_NO_THROW(require_schema(another()));
        for (const migration_step& step : migration_status(db_)) {
            EXPECT_TRUE(step.is_applied) << step.version;
            EXPECT_FALSE(step.is_half_applied) << step.version;
            EXPECT_EQ(step.problem, "");
        }
        session one{another(), {.name = "probe", .reap_every = {}}};
        auto held = mutex{one, "probe"}.try_acquire();
        EXPECT_TRUE(held);
        if (has_sql()) {  // the model keeps what it has
            EXPECT_EQ(token_of(held), 1) << "new tables start at 1";
        }
    }

    // Expects that `run` is refused with these words, and changes nothing.
    template <class Run>
    void expect_refused(Run&& run, errc code, std::initializer_list<const char*> words) const {
        const auto before = recorded();
        const auto names_before = names();
        const auto failure = thrown_by(run);
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), code) << failure->what();
        for (const char* word : words) {
            EXPECT_NE(std::string(failure->what()).find(word), std::string::npos)
                << failure->what();
        }
        EXPECT_EQ(names(), names_before);
        const auto after = recorded();
        ASSERT_EQ(before.has_value(), after.has_value());
        if (!before) return;
        ASSERT_EQ(before->size(), after->size());
        for (std::size_t at = 0; at < before->size(); ++at) {
            EXPECT_EQ((*before)[at].checksum, (*after)[at].checksum);
            EXPECT_EQ((*before)[at].is_finished, (*after)[at].is_finished);
        }
    }

    const std::string prefix_ = fresh_prefix();
    const database db_ = another();

private:
    // Removes whatever a failed test has left.
    void clear() const {
        const auto quietly = [&](const std::string& sql) {
            db_.inner()->use_unchecked([&](connection& on, store_set&) {
                thrown_by([&] { on.execute(sql); });
            });
        };
        if (!has_sql() || names().empty()) return;
        for (const migration& each : known()) {
            for (const std::string& statement : split_statements(texts(each).down))
                quietly(statement);
        }
        quietly("DROP TABLE " + prefix_ + "migration");
    }
};

}  // namespace leasehold::testing
