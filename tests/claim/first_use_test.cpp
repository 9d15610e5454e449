// The first use of a claim object on SQLite, in a transaction that has not the write lock yet: the
// lock is waited for before the table is looked at, since that look is a read.
#include <atomic>
#include <functional>
#include <utility>

#include "claim/counted.hpp"
#include "claim/suite.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

// Says whether it got what it asked for.
using operation = std::function<bool(transaction_ref)>;

class first_use_suite : public claim_suite {
protected:
    // `asks` in a transaction begun so, while another one writes, which commits when `may_commit`.
    void expect_success(
        begun how,
        const char* what,
        const operation& asks,
        const std::function<bool(const counted&, const std::atomic<bool>&)>& may_commit
    ) {
        SCOPED_TRACE(what);
        const auto mine = begin(how);
        const auto writer = begin();
        writer->run("UPDATE " + table_ + " SET note = 'newer' WHERE id = 9");
        counted asked{mine->ref().inside()};
        std::atomic<bool> is_over = false;
        bool has_got = false;
        thread asker{[&] {
            has_got = asks(asked);
            is_over = true;
        }};
        EXPECT_TRUE(eventually([&] { return asked.calls() > 0 || is_over; }));
        EXPECT_TRUE(may_commit(asked, is_over));
        writer->commit();
        asker.join();
        EXPECT_TRUE(has_got);
        mine->rollback();
    }

    versioned_mapping patient_seats() const {
        versioned_mapping made = seats();
        made.busy_timeout = 20s;
        return made;
    }
    versioned_row claimed_seat() {
        const auto tx = begin();
        const auto seat = versioned_claim{seats()}.try_claim_in(tx->ref(), {5});
        tx->commit();
        return seat.value();
    }
};

TEST_P(first_use_suite, waits_for_the_writer_as_long_as_the_handles_time_out_says) {
    if (!begin(begun::deferred_patient)) GTEST_SKIP() << "this client begins no such transaction";
    const versioned_row seat = claimed_seat();
    const std::pair<const char*, operation> all[] = {
        {"try_claim",
         [&](auto tx) { return versioned_claim{seats()}.try_claim_in(tx, {3}).has_value(); }},
        {"try_claim_some",
         [&](auto tx) { return versioned_claim{seats()}.try_claim_some_in(tx, 2).size() == 2; }},
        {"finish",
         [&](auto tx) {
             versioned_row row = seat;
             return versioned_claim{seats()}.finish_in(tx, row) == change_outcome::done;
         }},
        {"claim", [&](auto tx) { return bool{row_claim{rows()}.claim_in(tx, {3}, nowait)}; }},
        {"claim_some",
         [&](auto tx) { return bool{row_claim{rows()}.claim_some_in(tx, 2, nowait)}; }},
        {"claim_some, skip_locked",
         [&](auto tx) { return bool{row_claim{rows()}.claim_some_in(tx, 2, skip_locked)}; }},
    };
    for (const auto& [what, asks] : all) {
        expect_success(begun::deferred_patient, what, asks, [](const auto&, const auto& is_over) {
            return !eventually([&] { return is_over.load(); }, 50ms);
        });
    }
}

TEST_P(first_use_suite, asks_again_until_its_limit_and_is_not_too_old_to_write) {
    if (!begin(begun::deferred)) GTEST_SKIP() << "this client begins no such transaction";
    const versioned_row seat = claimed_seat();
    const when_locked wait = wait_at_most(20s);
    const std::pair<const char*, operation> all[] = {
        {"finish",
         [&](auto tx) {
             versioned_row row = seat;
             return versioned_claim{patient_seats()}.finish_in(tx, row) == change_outcome::done;
         }},
        {"claim", [&](auto tx) { return bool{row_claim{rows()}.claim_in(tx, {3}, wait)}; }},
        {"claim_some", [&](auto tx) { return bool{row_claim{rows()}.claim_some_in(tx, 2, wait)}; }},
    };
    for (const auto& [what, asks] : all) {
        expect_success(begun::deferred, what, asks, [](const auto& asked, const auto& is_over) {
            return eventually([&] { return asked.calls() >= 3 || is_over; }) && !is_over;
        });
    }
}

// The error says what is wrong with the table, and not that the lock could not be taken on it.
TEST_P(first_use_suite, of_a_table_that_is_not_there_says_so) {
    versioned_mapping absent = seats();
    absent.table = table_ + "_absent";
    for (const begun how : {begun::plainly, begun::deferred}) {
        const auto tx = begin(how);
        if (!tx) continue;
        const auto failure =
            thrown_by([&] { (void)versioned_claim{absent}.try_claim_in(tx->ref(), {1}); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::schema_mismatch) << failure->what();
        EXPECT_TRUE(versioned_claim{seats()}.try_claim_in(tx->ref(), {1}));
        tx->rollback();
    }
}

INSTANTIATE_TEST_SUITE_P(
    on,
    first_use_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
