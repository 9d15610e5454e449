// The statements by which programs in other languages prove, as their page has them: each reads a
// row or two, however many keys and jobs there are.
#include "cost/suite.hpp"
#include "leasehold/error.hpp"
#include "support/documented_proofs.hpp"

namespace leasehold::testing {
namespace {

// Many at once, so that the planner's own reads, of which there are some for each connection, do
// not hide that each proof reads some more.
constexpr std::int64_t proofs = 64;

class proof_cost : public cost_suite {
protected:
    proof_cost() {
        run([&](connection& on, store_set&) {
            page_ = read_documented_proofs(on.server().engine, "leasehold_");
        });
    }
    static bool is_proved(connection& on, const std::string& statement, const parameters& values) {
        on.begin();
        try {
            const bool answer = !on.execute(statement, values).rows.empty();
            on.commit();
            return answer;
        } catch (const error& failure) {
            EXPECT_EQ(failure.sqlstate(), "LH001") << failure.what();
            on.rollback();
            return false;
        }
    }
    void expect_few_reads(
        const std::string& what,
        const std::string& statement,
        const std::vector<parameters>& all,
        bool are_proved,
        const bound& each_at_most = {1, 1, 40}
    ) const {
        expect_reads(
            what + ", " + std::to_string(proofs),
            {each_at_most.postgres * proofs,
             each_at_most.mysql * proofs,
             each_at_most.sqlite * proofs},
            [&](connection& on, store_set&) {
                for (const parameters& each : all) {
                    EXPECT_EQ(is_proved(on, statement, each), are_proved) << what;
                }
            }
        );
    }

    documented_proofs page_;
};

TEST_P(proof_cost, of_a_lock) {
    std::vector<parameters> held, lost;
    for (std::int64_t each = 0; each < proofs; ++each) {
        const hold one = next_hold();
        held.push_back({one.key.name(), one.owner.text(), one.token.number});
        lost.push_back({one.key.name(), one.owner.text(), one.token.number + 1});
    }
    expect_few_reads("proofs of a lock", page_.lock, held, true);
    expect_few_reads("refused proofs of a lock", page_.lock, lost, false);
}

// The function of PostgreSQL looks into this table, too; elsewhere the page says to ask it instead.
// SQLite compares owners as texts, and so reads each holder of the key.
TEST_P(proof_cost, of_one_hold_of_several) {
    std::string statement = page_.lock;
    const std::string table = "leasehold_lock";
    if (const auto at = statement.find(table); at != std::string::npos) {
        statement.replace(at, table.size(), "leasehold_holder");
    }
    std::vector<parameters> held, lost;
    for (std::int64_t each = 1; each <= proofs; ++each) {
        held.push_back({"crowded", numbered(each).text(), each});
        lost.push_back({"crowded", numbered(each).text(), each + 1});
    }
    const bound at_most{2, 1, 10 * size().holders};
    expect_few_reads("proofs of permits", statement, held, true, at_most);
    expect_few_reads("refused proofs of permits", statement, lost, false, at_most);
}

TEST_P(proof_cost, of_a_job) {
    std::vector<parameters> held, lost;
    run([&](connection& on, store_set&) {
        const std::string running =
            "SELECT id FROM leasehold_job WHERE state = 3 ORDER BY id LIMIT ";
        for (const row& each : on.execute(running + std::to_string(proofs)).rows) {
            held.push_back({each.integer(0), std::int64_t{1}});
            lost.push_back({each.integer(0), std::int64_t{2}});
        }
    });
    ASSERT_EQ(std::ssize(held), proofs);
    // PostgreSQL also reads entries of earlier versions of a row: other tests change these jobs.
    const bound at_most{2, 1, 40};
    expect_few_reads("proofs of a job", page_.job, held, true, at_most);
    expect_few_reads("refused proofs of a job", page_.job, lost, false, at_most);
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    proof_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
