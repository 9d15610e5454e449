// Rows kept after the transaction they were claimed or changed in did not commit: their version has
// moved on, and somebody else's claim may have come to the same one.
#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

class void_row_suite : public claim_suite {
protected:
    versioned_mapping named_seats() const {
        versioned_mapping made = seats();
        made.claimed_by = "buyer";
        return made;
    }
    // Claims a row, lets `change` do something to it that does not commit, and its term pass.
    template <class Change>
    versioned_row claimed_and_lost(const versioned_claim& claims, Change&& change) {
        auto tx = begin();
        auto first = claims.try_claim_in(tx->ref(), {3}).value();
        tx->commit();
        tx = begin();
        EXPECT_EQ(change(tx->ref(), first), change_outcome::done);
        tx->rollback();
        expire(3);
        return first;
    }
    void expect_lost(const versioned_claim& claims, versioned_row row) {
        const auto tx = begin();
        EXPECT_EQ(claims.update_in(tx->ref(), row, {{"note", "late"}}), change_outcome::lost);
        EXPECT_EQ(claims.finish_in(tx->ref(), row, {{"note", "late"}}), change_outcome::lost);
        EXPECT_EQ(claims.release_in(tx->ref(), row), change_outcome::lost);
        tx->commit();
    }
};

TEST_P(void_row_suite, after_a_rollback_it_finishes_nobody_elses_claim) {
    const versioned_claim claims{named_seats()};
    auto tx = begin();
    const auto gone = claims.try_claim_in(tx->ref(), {3});
    ASSERT_TRUE(gone);
    tx->rollback();
    tx = begin();
    auto mine = claims.try_claim_in(tx->ref(), {3});
    ASSERT_TRUE(mine);
    tx->commit();
    EXPECT_EQ(mine->version, gone->version);
    EXPECT_NE(mine->claimed_as, gone->claimed_as);
    EXPECT_EQ(ask("buyer", 3), mine->claimed_as);
    expect_lost(claims, *gone);
    EXPECT_EQ(state_of(3), "taken/2");
    tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), *mine), change_outcome::done);
    tx->commit();
}

// The row is as after a commit whose answer was lost, and which was not done.
TEST_P(void_row_suite, after_an_update_that_did_not_commit_it_finishes_no_heirs_claim) {
    const versioned_claim claims{leased_seats()};
    auto first = claimed_and_lost(claims, [&](auto at, versioned_row& row) {
        return claims.update_in(at, row);
    });
    auto tx = begin();
    auto heir = claims.try_claim_in(tx->ref(), {3});
    ASSERT_TRUE(heir);
    tx->commit();
    EXPECT_EQ(heir->version, first.version);
    expect_lost(claims, first);
    tx = begin();
    EXPECT_EQ(claims.finish_in(tx->ref(), *heir), change_outcome::done);
    tx->commit();
    EXPECT_EQ(state_of(3), "sold/4");
}

// A finish that did not commit leaves a row that still names its claimer.
TEST_P(void_row_suite, after_a_finish_that_did_not_commit_it_changes_no_heirs_claim) {
    const versioned_claim claims{leased_seats()};
    auto first = claimed_and_lost(claims, [&](auto at, versioned_row& row) {
        return claims.finish_in(at, row);
    });
    auto tx = begin();
    auto heir = claims.try_claim_in(tx->ref(), {3});
    ASSERT_TRUE(heir);
    EXPECT_EQ(heir->version, first.version);
    EXPECT_EQ(claims.update_in(tx->ref(), first, {{"note", "late"}}), change_outcome::lost);
    EXPECT_EQ(claims.finish_in(tx->ref(), *heir), change_outcome::done);
    EXPECT_EQ(claims.update_in(tx->ref(), *heir, {{"note", "mine"}}), change_outcome::done);
    tx->commit();
    EXPECT_EQ(ask("note", 3), "mine");
}

TEST_P(void_row_suite, a_mapping_that_was_given_back_has_tags_too) {
    const versioned_claim claims{named_seats()};
    EXPECT_EQ(claims.mapping().claimant, "");
    const auto tx = begin();
    const auto mine = claims.try_claim_in(tx->ref(), {3});
    const auto other = versioned_claim{claims.mapping()}.try_claim_in(tx->ref(), {4});
    ASSERT_TRUE(mine && other);
    EXPECT_NE(mine->claimed_as, other->claimed_as);
    const auto nameless = versioned_claim{seats()}.try_claim_in(tx->ref(), {5});
    ASSERT_TRUE(nameless);
    EXPECT_EQ(nameless->claimed_as, "");
    tx->rollback();
}

TEST_P(void_row_suite, a_claimant_of_ones_own_is_compared_as_it_is) {
    versioned_mapping mapping = named_seats();
    mapping.claimant = "one";
    const versioned_claim claims{mapping};
    mapping.claimant = "two";
    const versioned_claim others{mapping};
    auto tx = begin();
    auto mine = claims.try_claim_in(tx->ref(), {3});
    ASSERT_TRUE(mine);
    EXPECT_EQ(mine->claimed_as, "one");
    tx->rollback();
    tx = begin();
    ASSERT_TRUE(others.try_claim_in(tx->ref(), {3}));
    tx->commit();
    expect_lost(claims, *mine);
    EXPECT_EQ(ask("buyer", 3), "two");
}

TEST_P(void_row_suite, the_tag_is_kept_where_the_column_is_narrow) {
    const std::string other = table_ + "_n";
    versioned_mapping mapping;
    mapping.table = other;
    mapping.key = {"id"};
    mapping.version = "version";
    mapping.claimed_by = "who";
    constexpr std::size_t tag_size = 12;
    for (const std::size_t width : {tag_size - 1, tag_size, tag_size + 1, tag_size + 4}) {
        define(
            "CREATE TABLE " + other +
            " (id BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL, who VARCHAR(" +
            std::to_string(width) + "))" + table_options()
        );
        define("INSERT INTO " + other + " (id, version) VALUES (1, 1)");
        const versioned_claim claims{mapping};
        auto tx = begin();
        if (width < tag_size && has_row_locks()) {  // SQLite's columns are as wide as they like
            const auto failure = thrown_by([&] { (void)claims.try_claim_in(tx->ref(), {1}); });
            ASSERT_TRUE(failure);
            EXPECT_EQ(failure->code(), errc::schema_mismatch);
            tx->rollback();
        } else {
            const auto gone = claims.try_claim_in(tx->ref(), {1});
            ASSERT_TRUE(gone);
            tx->rollback();
            tx = begin();
            auto mine = claims.try_claim_in(tx->ref(), {1});
            ASSERT_TRUE(mine);
            EXPECT_NE(mine->claimed_as, gone->claimed_as);
            EXPECT_EQ(claims.release_in(tx->ref(), *mine), change_outcome::done);
            tx->commit();
        }
        define("DROP TABLE " + other);
    }
}

INSTANTIATE_TEST_SUITE_P(
    on,
    void_row_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
