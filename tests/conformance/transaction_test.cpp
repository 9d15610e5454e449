// database::in_transaction: what was undone by a transient error is done again, and nothing else.
#include <functional>
#include <sstream>
#include <unordered_set>
#include <vector>

#include "conformance/suite.hpp"
#include "leasehold/error.hpp"
#include "leasehold/fence_guard.hpp"
#include "leasehold/print.hpp"

namespace leasehold::testing {
namespace {

class transaction_suite : public suite {
protected:
    // Throws this at the first `failures` calls, and counts the calls.
    int calls_until(int failures, const error& thrown, int attempts = 5) {
        int calls = 0;
        const auto failure = thrown_by([&] {
            first_.in_transaction(
                [&](transaction& tx) {
                    guard_.admit_in(tx, name_, {++calls});
                    if (calls <= failures) throw error{thrown};
                },
                attempts
            );
        });
        EXPECT_EQ(failure.has_value(), calls <= failures);
        return calls;
    }

    const key name_ = fresh("guarded");
    const fence_guard guard_{first_};
    const error transient_{errc::transient, "a deadlock"};
};

TEST_F(transaction_suite, a_body_is_called_anew_after_a_transient_error) {
    EXPECT_EQ(calls_until(2, transient_), 3);
    EXPECT_EQ(guard_.highest(name_), fencing_token{3}) << "what the last call did is committed";
}

TEST_F(transaction_suite, a_body_is_called_as_often_as_was_asked_for) {
    EXPECT_EQ(calls_until(9, transient_, 3), 3);
    EXPECT_EQ(guard_.highest(name_), std::nullopt) << "all of it was undone";
    EXPECT_EQ(calls_until(9, transient_, 1), 1);
    for (const int attempts : {0, -1}) {
        int calls = 0;
        const auto refused =
            thrown_by([&] { first_.in_transaction([&](transaction&) { ++calls; }, attempts); });
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code(), errc::invalid_argument);
        EXPECT_EQ(calls, 0);
    }
}

// A COMMIT that travels as text would leave the rest of the body outside of any transaction.
TEST_F(transaction_suite, a_transaction_is_begun_and_ended_by_calls_alone) {
    const auto expect_refused = [](const std::function<void()>& call) {
        const auto refused = thrown_by(call);
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code(), errc::wrong_transaction) << refused->what();
    };
    for (const char* each : {"COMMIT", "/* now */ rollback", "BEGIN", "START TRANSACTION", "END"}) {
        expect_refused([&] { first_.execute(each); });
        transaction tx = first_.begin();
        guard_.admit_in(tx, name_, {7});
        expect_refused([&] { tx.execute(each); });
        guard_.admit_in(tx, name_, {8});  // it is open all the same
        tx.rollback();
        EXPECT_EQ(guard_.highest(name_), std::nullopt) << each;
    }
}

// A deadlock does that on MySQL. The next statement would commit by itself.
TEST_F(transaction_suite, one_that_the_database_has_rolled_back_takes_no_more_statements) {
    transaction tx = first_.begin();
    guard_.admit_in(tx, name_, {7});
    transaction_ref{tx}.inside().rollback();
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { tx.execute("SELECT 1"); },
             [&] { guard_.admit_in(tx, name_, {8}); },
             [&] { tx.commit(); }}) {
        const auto refused = thrown_by(call);
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code(), errc::wrong_transaction) << refused->what();
    }
    tx.rollback();
    EXPECT_EQ(guard_.highest(name_), std::nullopt);
    first_.in_transaction([&](transaction& next) { guard_.admit_in(next, name_, {9}); });
    EXPECT_EQ(guard_.highest(name_), fencing_token{9});
}

TEST_F(transaction_suite, other_errors_come_out_at_once) {
    EXPECT_EQ(calls_until(1, error{errc::constraint, "no such row"}), 1);
    const error unknown{errc::transient, "the answer was lost", {.outcome_unknown = true}};
    EXPECT_EQ(calls_until(1, unknown), 1) << "the commit may have been made";
    EXPECT_EQ(guard_.highest(name_), std::nullopt);
}

TEST_F(transaction_suite, the_answer_of_the_body_is_that_of_the_call) {
    const auto highest = first_.in_transaction([&](transaction& tx) {
        guard_.admit_in(tx, name_, {7});
        return std::string{"done"};
    });
    EXPECT_EQ(highest, "done");
    EXPECT_EQ(guard_.highest(name_), fencing_token{7});
}

TEST_F(transaction_suite, outcomes_print_their_names_and_names_have_hashes) {
    session one{first_, calm("one")};
    lease held = *mutex{one, name_}.try_acquire();
    const std::unordered_set<key> keys{held.key(), key{name_}};
    EXPECT_EQ(keys.size(), 1U);
    const std::unordered_set<owner_id> owners{held.owner(), owner_id::random()};
    EXPECT_EQ(owners.size(), 2U);
    const std::unordered_set<fencing_token> tokens{held.token(), held.token()};
    EXPECT_EQ(tokens.size(), 1U);
    EXPECT_EQ(value{held.token()}.integer(), held.token().number);
    std::ostringstream said;
    said << held.release() << ' ' << held.release() << ' ' << held.why_lost();
    EXPECT_EQ(said.str(), "released not_held released");
}

}  // namespace
}  // namespace leasehold::testing
