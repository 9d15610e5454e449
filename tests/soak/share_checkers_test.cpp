// Each check of shares, first on a history in which it holds and then on one with one thing wrong.
#include <gtest/gtest.h>

#include "soak/checkers.hpp"
#include "soak/expect_findings.hpp"
#include "soak/share_checkers.hpp"

namespace leasehold::soak {
namespace {

constexpr int book = share_of(share_kind::shared, 0);
constexpr int seats = share_of(share_kind::permits, 0);
constexpr int nightly = share_of(share_kind::task, 0);
constexpr int order = share_of(share_kind::row, 0);

// A history as processes would have written it, with times in milliseconds.
class told {
public:
    struct grant {
        int process;
        int share;
        std::int64_t id;
        std::int64_t token;
    };

    // Granted 5 ms after it was asked for, believed until then.
    grant take(
        int share,
        int process,
        std::int64_t at,
        std::int64_t token,
        std::int64_t weight,
        std::int64_t until
    ) {
        const auto id = ++last_id_;
        add({at, process, id, operation::take, phase::invoke, share, 0, 0, weight});
        add({at + 5, process, id, operation::take, phase::ok, share, 0, token, weight, until});
        return {process, share, id, token};
    }
    void give_back(const grant& of, std::int64_t at) {
        add({at, of.process, ++last_id_, operation::yield, phase::invoke, of.share, of.id});
    }
    void lose(const grant& of, std::int64_t at) {
        add({at, of.process, 0, operation::belief, phase::fail, of.share, of.id});
    }
    // Begun, proved 1 ms later, committed `open_for` after that. Its row is there where it is ok.
    std::int64_t prove(
        const grant& of,
        std::int64_t at,
        std::int64_t number,
        phase outcome = phase::ok,
        std::int64_t open_for = 2
    ) {
        const auto id = ++last_id_;
        add({at, of.process, id, operation::prove, phase::invoke, of.share, of.id, of.token});
        record passed{at + 1 + open_for, of.process, id, operation::proved, phase::note, of.share};
        passed.number = (at + 1) * ms;
        add(passed);
        record answer{at + 2 + open_for, of.process, id, operation::prove, outcome, of.share};
        answer.grant = of.id;
        answer.token = of.token;
        answer.number = number;
        if (outcome != phase::unknown) add(answer);
        if (outcome == phase::ok) row(of, id, number);
        return id;
    }
    // A commit of one of a row's own transactions: a claim has no grant before it.
    grant change(int process, std::int64_t claim, std::int64_t version, std::int64_t number) {
        const auto at = version * 100;
        const grant made{process, order, ++last_id_, version};
        add({at, process, made.id, operation::prove, phase::invoke, order, claim});
        add({at + 5, process, made.id, operation::prove, phase::ok, order, claim, version, number});
        row(made, made.id, number);
        return made;
    }
    void row(const grant& of, std::int64_t id, std::int64_t number) {
        add({9999, of.process, id, operation::proof, phase::note, of.share, 0, of.token, number});
    }
    void ends(int share, std::int64_t number, std::int64_t version = 0) {
        add({9999, 0, 0, operation::state, phase::note, share, 0, version, number});
    }
    void add(record what) {
        what.at_ns *= ms;
        what.until_ns *= ms;
        records_.push_back(what);
    }
    all_shares shares() const { return gather_shares(sorted()); }
    facts locks() const { return gather(sorted()); }

private:
    std::vector<record> sorted() const {
        auto all = records_;
        std::stable_sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
            return one.at_ns < other.at_ns;
        });
        return all;
    }

    std::vector<record> records_;
    std::int64_t last_id_ = 0;
};

// ------------------------------------------------------------------------------------------- S1

TEST(weight_check, readers_together_and_then_a_writer_are_fine) {
    told of;
    const auto one = of.take(book, 1, 0, 1, 1, 900);
    const auto two = of.take(book, 2, 10, 2, 1, 900);
    of.prove(one, 30, 0);
    of.prove(two, 31, 0);
    of.give_back(one, 50);
    of.give_back(two, 60);
    of.prove(of.take(book, 3, 58, 3, max_readers, 900), 70, 1);
    EXPECT_TRUE(holds(check_weights(of.shares())));
    EXPECT_EQ(most_at_once(of.shares().at(book)), 2);
}

TEST(weight_check, reports_a_writer_who_believes_beside_a_reader) {
    told of;
    of.take(book, 1, 0, 1, 1, 900);
    of.take(book, 2, 100, 2, max_readers, 900);
    EXPECT_TRUE(reports(check_weights(of.shares()), "believed to have 1001 of 1000"));
}

TEST(weight_check, reports_a_reader_who_believes_beside_a_writer) {
    told of;
    of.take(book, 2, 0, 1, max_readers, 900);
    of.take(book, 1, 100, 2, 1, 900);
    EXPECT_TRUE(reports(check_weights(of.shares()), "believed to have 1001 of 1000"));
}

TEST(weight_check, reports_two_writers_that_prove_at_one_time) {
    told of;
    const auto one = of.take(book, 1, 0, 1, max_readers, 20);
    const auto two = of.take(book, 2, 30, 2, max_readers, 900);
    of.prove(one, 40, 1, phase::ok, 20);
    of.prove(two, 50, 2);
    const auto found = check_weights(of.shares());
    EXPECT_EQ(found.size(), 1U) << texts(found);
    EXPECT_TRUE(reports(found, "proved to have 2000 of 1000"));
}

TEST(weight_check, what_did_not_commit_proves_nothing) {
    told of;
    const auto one = of.take(book, 1, 0, 1, max_readers, 20);
    const auto two = of.take(book, 2, 30, 2, max_readers, 900);
    of.prove(one, 40, 1, phase::unknown, 20);
    of.prove(two, 50, 1);
    EXPECT_TRUE(holds(check_weights(of.shares())));
}

TEST(weight_check, reports_what_has_committed_though_its_answer_was_lost) {
    told of;
    const auto one = of.take(book, 1, 0, 1, max_readers, 20);
    const auto two = of.take(book, 2, 30, 2, max_readers, 900);
    of.row(one, of.prove(one, 40, 1, phase::unknown, 20), 1);
    of.prove(two, 50, 1);
    EXPECT_TRUE(reports(check_weights(of.shares()), "proved to have 2000 of 1000"));
}

TEST(weight_check, belief_ends_with_a_loss_and_with_a_return) {
    told of;
    of.lose(of.take(book, 1, 0, 1, max_readers, 900), 50);
    of.give_back(of.take(book, 2, 60, 2, max_readers, 900), 100);
    of.take(book, 3, 98, 3, max_readers, 900);
    EXPECT_TRUE(holds(check_weights(of.shares())));
}

TEST(weight_check, all_permits_at_once_are_fine_and_one_more_is_reported) {
    told of;
    const auto two = of.take(seats, 1, 0, 1, 2, 900);
    const auto one = of.take(seats, 2, 10, 2, 1, 900);
    of.prove(two, 30, 0, phase::ok, 20);
    of.prove(one, 31, 0, phase::ok, 20);
    EXPECT_TRUE(holds(check_weights(of.shares())));
    EXPECT_EQ(most_at_once(of.shares().at(seats)), 3);
    const auto more = of.take(seats, 3, 20, 3, 1, 26);
    EXPECT_TRUE(reports(check_weights(of.shares()), "believed to have 4 of 3"));
    of.prove(more, 33, 0);
    EXPECT_TRUE(reports(check_weights(of.shares()), "proved to have 4 of 3"));
}

// ------------------------------------------------------------------------------------------- S2

TEST(share_token_check, reports_a_repeated_token_and_one_that_goes_back) {
    told of;
    of.take(seats, 1, 0, 4, 1, 900);
    of.take(seats, 2, 10, 5, 1, 900);
    EXPECT_TRUE(holds(check_share_tokens(of.shares())));
    told repeated = of;
    repeated.take(seats, 3, 12, 5, 1, 900);
    EXPECT_TRUE(reports(check_share_tokens(repeated.shares()), "the same token"));
    of.take(seats, 3, 30, 3, 1, 900);
    EXPECT_TRUE(reports(check_share_tokens(of.shares()), "asked for after token 5"));
}

// ------------------------------------------------------------------------------------------- S3

// A reader, then a writer, each with a proof that committed.
struct proof_check : ::testing::Test, told {
    proof_check() {
        reader = take(book, 1, 0, 1, 1, 50);
        read = prove(reader, 10, 0);
        writer = take(book, 2, 100, 2, max_readers, 900);
        prove(writer, 110, 1);
        ends(book, 1);
    }
    findings found() const { return check_proofs(shares()); }
    grant reader{}, writer{};
    std::int64_t read = 0;
};

TEST_F(proof_check, everything_once_is_fine) {
    prove(writer, 130, 2, phase::unknown);
    EXPECT_TRUE(holds(found()));
}

TEST_F(proof_check, reports_what_is_there_twice) {
    row(reader, read, 0);
    EXPECT_TRUE(reports(found(), "is there twice"));
}

TEST_F(proof_check, reports_what_nobody_wrote) {
    row(reader, 777, 0);
    EXPECT_TRUE(reports(found(), "nobody wrote it"));
}

TEST_F(proof_check, reports_what_was_refused_and_is_there) {
    row(writer, prove(writer, 130, 2, phase::fail), 2);
    EXPECT_TRUE(reports(found(), "was refused, and is there"));
}

TEST_F(proof_check, reports_what_is_there_with_another_number) {
    const auto id = prove(writer, 130, 2, phase::unknown);
    add({134, 2, id, operation::prove, phase::ok, book, writer.id, 2, 3});
    row(writer, id, 2);
    EXPECT_TRUE(reports(found(), "with another token or number"));
}

TEST_F(proof_check, reports_a_commit_that_is_missing) {
    const auto id = prove(writer, 130, 2, phase::unknown);
    add({134, 2, id, operation::prove, phase::ok, book, writer.id, 2, 2});
    EXPECT_TRUE(reports(found(), "an acknowledged commit is missing"));
}

TEST_F(proof_check, reports_a_reader_that_is_accepted_after_a_writer_was_granted) {
    prove(reader, 120, 1);
    EXPECT_TRUE(reports(found(), "accepted, begun after token 2 had taken its place"));
}

TEST_F(proof_check, a_reader_among_later_readers_is_fine_and_a_writer_is_not) {
    const auto one = take(book, 3, 1000, 3, 1, 2000);
    take(book, 4, 1010, 4, 1, 2000);
    prove(one, 1100, 1);
    EXPECT_TRUE(holds(found()));
    prove(writer, 1200, 2);
    EXPECT_TRUE(reports(found(), "accepted, begun after token 4 had taken its place"));
}

TEST_F(proof_check, a_permit_stays_good_when_others_are_granted) {
    const auto one = take(seats, 1, 0, 1, 1, 900);
    take(seats, 2, 10, 2, 1, 900);
    prove(one, 100, 0);
    EXPECT_TRUE(holds(found()));
}

// ------------------------------------------------------------------------------------------- S4

struct reader_check : ::testing::Test, told {
    reader_check() {
        writer = take(book, 1, 0, 1, max_readers, 50);
        prove(writer, 10, 1);
        prove(writer, 20, 2);
        reader = take(book, 2, 100, 2, 1, 150);
        next = take(book, 3, 200, 3, max_readers, 900);
    }
    findings found() const { return check_readers(shares()); }
    grant writer{}, reader{}, next{};
};

TEST_F(reader_check, each_sees_what_came_before_it) {
    prove(reader, 110, 2);
    prove(next, 210, 3);
    ends(book, 3);
    EXPECT_TRUE(holds(found()));
}

TEST_F(reader_check, reports_a_reader_that_missed_a_write) {
    prove(reader, 110, 1);
    prove(next, 210, 3);
    ends(book, 3);
    EXPECT_TRUE(reports(found(), "read 1 under token 2, and 2 writers had written before"));
}

TEST_F(reader_check, reports_a_reader_that_saw_its_successors_write) {
    prove(next, 210, 3);
    prove(reader, 220, 3);
    ends(book, 3);
    EXPECT_TRUE(reports(found(), "read 3 under token 2, and 2 writers had written before"));
}

TEST_F(reader_check, reports_a_lost_update) {
    prove(next, 210, 2);
    ends(book, 2);
    EXPECT_TRUE(reports(found(), "wrote 2 under token 3, and 3 writers had written by then"));
    EXPECT_TRUE(reports(found(), "3 writers have committed, and what they count is 2"));
}

TEST_F(reader_check, reports_a_writer_that_commits_after_its_successor) {
    prove(next, 210, 3);
    prove(writer, 220, 4);
    ends(book, 4);
    EXPECT_TRUE(reports(found(), "wrote 4 under token 1"));
}

// ------------------------------------------------------------------------------------------- S5

TEST(tick_check, one_after_another_is_fine_and_the_same_or_an_earlier_one_is_reported) {
    told of;
    of.prove(of.take(nightly, 1, 0, 1, 1, 50), 10, 17);
    of.prove(of.take(nightly, 2, 100, 2, 1, 150), 110, 18);
    EXPECT_TRUE(holds(check_ticks(of.shares())));
    told repeated = of;
    repeated.prove(repeated.take(nightly, 1, 200, 3, 1, 250), 210, 18);
    EXPECT_TRUE(reports(check_ticks(repeated.shares()), "finished the same tick"));
    of.prove(of.take(nightly, 1, 200, 3, 1, 250), 210, 17);
    EXPECT_TRUE(reports(check_ticks(of.shares()), "finished ticks out of order"));
}

// ------------------------------------------------------------------------------------------- S6

struct version_check : ::testing::Test, told {
    version_check() {
        const auto first = change(1, 0, 1, no_change);
        change(1, first.id, 2, 1);
        second = change(2, 0, 3, no_change);
    }
    findings found() const { return check_versions(shares()); }
    grant second{};
};

TEST_F(version_check, claims_and_their_changes_are_fine) {
    change(2, second.id, 4, 2);
    change(2, second.id, 5, 3);
    ends(order, 3, 5);
    EXPECT_TRUE(holds(found()));
}

TEST_F(version_check, reports_a_version_made_twice_and_one_left_out) {
    told of = *this;
    of.change(3, 0, 3, no_change);
    of.ends(order, 1, 4);
    EXPECT_TRUE(reports(check_versions(of.shares()), "made version 3, after 3"));
    change(3, 0, 5, no_change);
    ends(order, 1, 5);
    EXPECT_TRUE(reports(found(), "made version 5, after 3"));
    EXPECT_TRUE(reports(found(), "the version is 5, and 4 commits changed it"));
}

TEST_F(version_check, reports_a_lost_update) {
    change(2, second.id, 4, 1);
    ends(order, 1, 4);
    EXPECT_TRUE(reports(found(), "wrote 1 as change number 2"));
    EXPECT_TRUE(reports(found(), "2 changes were committed, and the row counts 1"));
}

TEST_F(version_check, reports_a_change_of_what_was_claimed_by_another) {
    change(1, 1, 4, 2);
    ends(order, 2, 4);
    EXPECT_TRUE(reports(found(), "had claimed since"));
}

TEST_F(version_check, reports_a_version_that_went_back) {
    ends(order, 1, 2);
    EXPECT_TRUE(reports(found(), "the version is 2, and 3 commits changed it"));
}

// ------------------------------------------------------------------------------------------- C5

TEST(set_check, all_or_none_are_fine_and_a_part_is_reported) {
    told of;
    const auto append = [&](std::int64_t id, int key, std::int64_t transaction) {
        of.add({10, 1, id, operation::append, phase::invoke, key, 1, 1, transaction});
    };
    append(11, 3, 11);
    append(12, 4, 11);
    append(21, 3, 21);
    append(22, 5, 21);
    of.add({99, 1, 11, operation::entry, phase::note, 3, 0, 1, 1});
    of.add({99, 1, 12, operation::entry, phase::note, 4, 0, 1, 1});
    EXPECT_TRUE(holds(check_sets(of.locks())));
    of.add({99, 1, 22, operation::entry, phase::note, 5, 0, 1, 1});
    EXPECT_TRUE(reports(check_sets(of.locks()), "of the 2 appends of its set 1 are there"));
}

// ------------------------------------------------------------------------------------------- S7

TEST(progress_check, reports_each_kind_that_did_too_little) {
    told of;
    const auto reader = of.take(book, 1, 0, 1, 1, 900);
    of.prove(reader, 10, 0);
    of.prove(reader, 20, 0);
    of.prove(reader, 30, 0, phase::fail);
    const auto made = measure_progress(of.locks(), of.shares());
    EXPECT_EQ(made.at("shared mutex, reader"), 2);
    const auto found = check_progress(made, 2);
    EXPECT_EQ(found.size(), made.size() - 1) << texts(found);
    EXPECT_TRUE(reports(found, "permits: 0 commits under proof"));
    EXPECT_EQ(check_progress(made, 3).size(), made.size());
    EXPECT_TRUE(holds(check_progress(made, 0)));
}

TEST(progress_check, a_claim_alone_is_no_change) {
    told of;
    const auto claim = of.change(1, 0, 1, no_change);
    EXPECT_EQ(measure_progress(of.locks(), of.shares()).at("row"), 0);
    of.change(1, claim.id, 2, 1);
    EXPECT_EQ(measure_progress(of.locks(), of.shares()).at("row"), 1);
}

}  // namespace
}  // namespace leasehold::soak
