// The statements of docs/proofs-from-other-languages.md, as they stand there: each promise of that
// page on each engine.
#include "conformance/proof_statement_suite.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/clean_up.hpp"

namespace leasehold::testing {
namespace {

TEST_F(proof_statement_suite, a_held_lock_is_proved_again_and_again_and_the_write_commits) {
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    const auto before = current().read_counter();
    transaction tx = begin_with_a_write();
    for (int each = 0; each < 3; ++each) {
        EXPECT_TRUE(is_proved(tx, page_.lock, told_of(*held).values()));
    }
    tx.commit();
    EXPECT_EQ(current().read_counter(), before + 1);
    EXPECT_TRUE(held->verify());
}

TEST_F(proof_statement_suite, another_token_owner_or_key_is_refused) {
    session one{first_, calm("one")};
    const std::string name = fresh("k");
    EXPECT_TRUE(is_granted(mutex{one, name}.try_acquire()));
    auto held = mutex{one, name}.try_acquire();
    const told_lease right = told_of(*held);
    ASSERT_TRUE(is_proved(right));
    for (const std::int64_t token : {right.token - 1, right.token + 1}) {
        told_lease wrong = right;
        wrong.token = token;
        EXPECT_FALSE(is_proved(wrong)) << token;
    }
    told_lease wrong = right;
    wrong.owner = identity::random().text();
    EXPECT_FALSE(is_proved(wrong));
    for (const std::string& other : {name + " ", name + "x", "K" + name.substr(1)}) {
        wrong = right;
        wrong.key = other;
        EXPECT_FALSE(is_proved(wrong)) << other;
    }
}

TEST_F(proof_statement_suite, a_released_lock_is_refused) {
    session one{first_, calm("one")};
    const std::string a = fresh("a"), b = fresh("b"), c = fresh("c");
    auto released = mutex{one, a}.try_acquire();
    auto forced = mutex{one, b}.try_acquire();
    const told_lease first = told_of(*released), second = told_of(*forced);
    released->release();
    EXPECT_FALSE(is_proved(first));
    EXPECT_TRUE(force_release(second_, b));
    EXPECT_FALSE(is_proved(second));
    auto with_session = mutex{one, c}.try_acquire();
    const told_lease third = told_of(*with_session);
    one.end();
    EXPECT_FALSE(is_proved(third));
}

// As lease::verify_in() does: the proof is about who was granted last, not about clocks.
TEST_F(proof_statement_suite, a_lock_whose_time_is_over_is_proved_until_another_process_has_it) {
    session heir{second_, calm("heir")};
    for (const bool has_term : {false, true}) {
        session dead{first_, calm("dead")};
        mutex_settings options;
        if (has_term) options.fixed_term = 10min;
        const std::string name = fresh("k");
        auto held = mutex{dead, name, options}.try_acquire();
        const told_lease told = told_of(*held);
        has_term ? current().age_lock(name, 11min) : expire(dead);
        EXPECT_TRUE(is_proved(told));
        auto taken = mutex{heir, name}.try_acquire();
        ASSERT_TRUE(taken);
        EXPECT_FALSE(is_proved(told));
        EXPECT_TRUE(is_proved(told_of(*taken)));
    }
}

TEST_F(proof_statement_suite, what_the_reaper_took_from_a_dead_session_is_refused) {
    session dead{first_, calm("dead")};
    const std::string name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    const told_lease told = told_of(*held);
    expire(dead);
    reap(second_, {.session_retention = 24h});
    EXPECT_FALSE(is_proved(told));
}

TEST_F(proof_statement_suite, a_successor_waits_for_the_transaction_that_proved) {
    session heir{second_, calm("heir")};
    for (const bool commits : {true, false}) {
        session dead{first_, calm("dead")};
        const std::string name = fresh("k");
        auto held = mutex{dead, name}.try_acquire();
        const auto before = current().read_counter();
        transaction tx = begin_with_a_write();
        EXPECT_TRUE(is_proved(tx, page_.lock, told_of(*held).values()));
        if (current().has_concurrent_writers) expire(dead);
        expect_kept_from(mutex{heir, name}, [&] {
            commits ? tx.commit() : tx.rollback();
            if (!current().has_concurrent_writers) expire(dead);
        });
        EXPECT_EQ(current().read_counter(), before + (commits ? 1 : 0));
        EXPECT_FALSE(is_proved(told_of(*held)));
    }
}

// The program that started the command may release while the command's transaction is open.
TEST_F(proof_statement_suite, neither_a_release_nor_force_gives_the_key_away_before_the_commit) {
    for (const bool is_forced : {true, false}) {
        session one{second_, calm("one")}, heir{second_, calm("heir")};
        const std::string name = fresh("k");
        auto held = mutex{one, name}.try_acquire();
        transaction tx = begin_with_a_write();
        EXPECT_TRUE(is_proved(tx, page_.lock, told_of(*held).values()));
        expect_kept_out(
            [&] {
                if (is_forced) {
                    force_release(second_, name);
                } else {
                    held->release();
                }
                return is_granted(mutex{heir, name}.acquire_for(20s));
            },
            [&] { tx.commit(); }
        );
    }
}

TEST_F(proof_statement_suite, two_transactions_of_one_holder_prove_beside_each_other) {
    if (!current().has_concurrent_writers) GTEST_SKIP() << "the engine has one writer at a time";
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    transaction a = first_.begin(), b = second_.begin();
    for (transaction* each : {&a, &b}) {
        EXPECT_TRUE(is_proved(*each, page_.lock, told_of(*held).values()));
    }
    a.commit();
    b.commit();
}

TEST_F(proof_statement_suite, outside_of_a_transaction_the_statement_keeps_nobody_out) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const std::string name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    const database beside = current().open({});
    EXPECT_TRUE(is_proved(beside, page_.lock, told_of(*held).values()));
    expire(dead);
    auto taken = mutex{heir, name}.try_acquire();
    EXPECT_TRUE(taken);
}

// Such a hold is a row of another table, where the function of PostgreSQL looks by itself.
TEST_F(proof_statement_suite, a_hold_that_is_one_of_several_is_proved_in_its_own_table) {
    std::string statement = page_.lock;
    if (!is_on(engine::postgres)) {
        statement.replace(statement.find(table("lock")), table("lock").size(), table("holder"));
    }
    session one{first_, calm("one")}, two{second_, calm("two")};
    const std::string name = fresh("k");
    auto reading = shared_mutex{one, name}.try_acquire_shared();
    auto permits = semaphore{one, fresh("s"), 3}.try_acquire(2);
    const told_lease told = told_of(*reading);
    transaction tx = begin_with_a_write();
    EXPECT_TRUE(is_proved(tx, statement, told_of(*permits).values()));
    EXPECT_TRUE(is_proved(tx, statement, told.values()));
    if (current().has_concurrent_writers) expire(one);
    expect_kept_from(shared_mutex{two, name}, [&] {
        tx.commit();
        if (!current().has_concurrent_writers) expire(one);
    });
    transaction late = first_.begin();
    EXPECT_FALSE(is_proved(late, statement, told.values()));
}

TEST_F(proof_statement_suite, keys_are_bytes_of_utf_8_of_any_length) {
    session one{first_, calm("one")};
    const std::string unique = identity::random().text();
    const std::string japanese = "\u9375";
    std::string longest = unique;
    while (longest.size() + japanese.size() <= 255) longest += japanese;
    longest.resize(255, 'x');
    for (const std::string& name :
         {"Schl\u00fcssel/\U0001f511/" + unique, "quote'\\\"%_:key$1?/" + unique, longest}) {
        auto held = mutex{one, name}.try_acquire();
        const told_lease told = told_of(*held);
        EXPECT_TRUE(is_proved(told)) << name;
        held->release();
        EXPECT_FALSE(is_proved(told)) << name;
    }
    // Two spellings of one word are two keys.
    auto composed = mutex{one, "\u00e9/" + unique}.try_acquire();
    told_lease decomposed = told_of(*composed);
    decomposed.key = "e\u0301/" + unique;
    EXPECT_FALSE(is_proved(decomposed));
}

TEST_F(proof_statement_suite, a_claimed_job_is_proved_while_it_runs_under_this_claim) {
    enqueue_many(2);
    const claimed_job ended = one_.claim_one(), lost = one_.claim_one();
    EXPECT_TRUE(is_proved(ended));
    claimed_job wrong = ended;
    ++wrong.token.number;
    EXPECT_FALSE(is_proved(wrong));
    wrong = ended;
    wrong.id += 1'000'000'000;
    EXPECT_FALSE(is_proved(wrong));
    EXPECT_TRUE(one_.complete(ended));
    EXPECT_FALSE(is_proved(ended));
    expire(one_.mine);
    EXPECT_TRUE(is_proved(lost)) << "nobody has it yet";
    EXPECT_EQ(rescue().rescued, 1);
    EXPECT_FALSE(is_proved(lost)) << "it waits";
    const claimed_job again = two_.claim_one();
    EXPECT_EQ(again.id, lost.id);
    EXPECT_FALSE(is_proved(lost));
    EXPECT_TRUE(is_proved(again));
    EXPECT_TRUE(two_.fail(again));
    EXPECT_FALSE(is_proved(again));
}

TEST_F(proof_statement_suite, nobody_else_gets_a_job_before_the_transaction_that_proved_has_ended) {
    for (const bool commits : {true, false}) {
        worker dying{first_, queue_};
        const job_id id = enqueue();
        const claimed_job job = dying.claim_one();
        transaction tx = begin_with_a_write();
        EXPECT_TRUE(is_proved(tx, page_.job, {job.id, job.token.number}));
        if (current().has_concurrent_writers) expire(dying.mine);
        std::vector<claimed_job> got;
        expect_kept_out(
            [&] {
                rescue();
                got = two_.claim(1);
                return !got.empty();
            },
            [&] {
                commits ? tx.commit() : tx.rollback();
                if (!current().has_concurrent_writers) expire(dying.mine);
            }
        );
        EXPECT_EQ(ids_of(got), std::vector{id});
        EXPECT_FALSE(is_proved(job));
    }
}

// The owner of other tables grants the program what the page names, and no more.
TEST_F(proof_statement_suite, the_rights_that_the_page_names_are_enough) {
    if (!current().has_concurrent_writers) GTEST_SKIP() << "the engine has no users";
    const std::string prefix = "Pr" + identity::random().text().substr(0, 8) + "_";
    const database own = current().open_with_prefix(prefix, nullptr);
    migrate(own);
    const documented_proofs page = read_documented_proofs(own.server().engine, prefix);
    const bool has_functions = is_on(engine::postgres);
    const std::string user =
        first_
            .execute(
                has_functions ? "SELECT current_user::text"
                              : "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"
            )
            .rows.at(0)
            .text(0);
    session one{own, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    auto shared = shared_mutex{one, fresh("s")}.try_acquire_shared();
    const auto proved = [&](const lease& which) {
        transaction tx = first_.begin();
        return is_proved(tx, page.lock, told_of(which).values());
    };
    const auto refused = thrown_by([&] { proved(*held); });
    ASSERT_TRUE(refused) << "no right is granted yet";
    EXPECT_EQ(refused->code(), errc::permission_denied) << refused->what();
    std::vector<std::string> grants = page.grants;
    if (!has_functions) {
        grants.clear();
        for (const char* each : {"lock", "job"})
            grants.push_back("GRANT SELECT ON " + prefix + each);
    }
    ASSERT_EQ(grants.size(), 2U);
    for (const std::string& each : grants) own.execute(each + " TO " + user);
    EXPECT_TRUE(proved(*held));
    if (has_functions) {
        EXPECT_TRUE(proved(*shared));
    }
    job_queue{own, "q"}.enqueue({});
    const claimed_job job = worker{own, "q"}.claim_one();
    transaction tx = first_.begin();
    EXPECT_TRUE(is_proved(tx, page.job, {job.id, job.token.number}));
    tx.rollback();
    held->release();
    shared->release();
    one.end();
    own.execute("DELETE FROM " + prefix + "session");
    migrate_down(own, 0);
}

}  // namespace
}  // namespace leasehold::testing
