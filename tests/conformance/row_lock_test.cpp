// find_row_lock and list_row_locks: which open transaction keeps a key closed.

#include "conformance/suite.hpp"
#include "leasehold/shared_mutex.hpp"

namespace leasehold::testing {
namespace {

class row_lock_suite : public suite {
protected:
    // This user may see what others do.
    const database owner_ = current().open_as_owner({});

    // The lists of some servers are renewed now and then only.
    bool soon_finds(const key& name) {
        return eventually([&] { return find_row_lock(owner_, name).has_value(); });
    }
    bool soon_finds_nobody(const key& name) {
        return eventually([&] { return !find_row_lock(owner_, name); });
    }
    static bool is_among(const std::vector<row_lock_info>& all, const key& name) {
        for (const auto& each : all) {
            if (each.key == name.name()) return true;
        }
        return false;
    }
};

TEST_F(row_lock_suite, the_transaction_of_a_proof_is_named_until_it_ends) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    EXPECT_FALSE(find_row_lock(owner_, name)) << "held, and its row is not locked";
    transaction tx = first_.begin();
    held->verify_in(tx);
    std::optional<row_lock_info> found;
    // While others of this server have rows locked MariaDB may name one of those.
    ASSERT_TRUE(eventually([&] {
        found = find_row_lock(owner_, name);
        return found && found->connection != 0;
    }));
    EXPECT_EQ(found->key, name.name());
    EXPECT_EQ(found->missing_right, "") << "the tests' user may see all";
    if (current().name != "memory") {
        EXPECT_NE(found->way_to_end.find(std::to_string(found->connection)), std::string::npos)
            << found->way_to_end;
    }
    EXPECT_EQ(found->locks_all_keys, current().name == "sqlite");
    tx.rollback();
    EXPECT_TRUE(soon_finds_nobody(name));
    EXPECT_TRUE(held->verify());
}

// A program's rights alone tell that there is a lock, and which right would tell more of it.
TEST_F(row_lock_suite, a_user_without_rights_learns_that_there_is_one) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    transaction tx = first_.begin();
    held->verify_in(tx);
    const auto found = find_row_lock(second_, name);
    ASSERT_TRUE(found);
    const std::string& engine = current().name;
    if (engine == "mysql" || engine == "mariadb") {
        EXPECT_NE(found->missing_right.find("PROCESS"), std::string::npos);
        EXPECT_EQ(found->connection, 0);
        EXPECT_EQ(found->way_to_end, "");
    } else {
        EXPECT_EQ(found->missing_right, "") << "it is of the same user";
        EXPECT_NE(found->connection, 0);
    }
    tx.rollback();
    EXPECT_TRUE(eventually([&] { return !find_row_lock(second_, name); }));
}

TEST_F(row_lock_suite, nobody_is_named_for_a_key_that_is_free_or_was_never_there) {
    session one{first_, calm("one")};
    const key never = fresh("never"), past = fresh("past");
    { auto held = mutex{one, past}.try_acquire(); }
    EXPECT_FALSE(find_row_lock(second_, never));
    EXPECT_FALSE(find_row_lock(second_, past));
}

// A row names its last locker, also when that transaction is long over.
TEST_F(row_lock_suite, a_proof_that_is_over_leaves_nobody_to_be_named) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    for (int round = 0; round < 3; ++round) {
        transaction tx = first_.begin();
        held->verify_in(tx);
        tx.commit();
        EXPECT_TRUE(soon_finds_nobody(name));
    }
}

TEST_F(row_lock_suite, of_two_proofs_at_once_one_is_named_and_others_are_possible) {
    if (!current().has_concurrent_writers) GTEST_SKIP() << "one writer: one transaction";
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    database third = open();
    transaction elder = first_.begin();
    held->verify_in(elder);
    {
        transaction younger = third.begin();
        const lease& same = *held;
        connection& inside = transaction_ref{younger}.inside();
        const hold mine{name, same.owner(), same.token()};
        EXPECT_TRUE(third.inner()->store_for(inside).get<hold_store>().prove(inside, mine));
        EXPECT_TRUE(eventually([&] {
            const auto found = find_row_lock(owner_, name);
            return found && found->may_be_others;
        }));
        younger.rollback();
    }
    EXPECT_TRUE(soon_finds(name)) << "the other one has it still";
    elder.rollback();
    EXPECT_TRUE(soon_finds_nobody(name));
}

TEST_F(row_lock_suite, the_proof_of_one_that_shares_the_key_is_found) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = shared_mutex{one, name}.try_acquire_shared();
    ASSERT_TRUE(held);
    EXPECT_FALSE(find_row_lock(owner_, name));
    transaction tx = first_.begin();
    held->verify_in(tx);
    EXPECT_TRUE(soon_finds(name));
    tx.rollback();
    EXPECT_TRUE(soon_finds_nobody(name));
}

// The asking program waits for nobody, and changes nothing.
TEST_F(row_lock_suite, asking_does_not_disturb_the_proof) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const auto before = current().read_counter();
    transaction tx = first_.begin();
    held->verify_in(tx);
    for (int round = 0; round < 10; ++round) find_row_lock(owner_, name);
    current().increment_counter(transaction_ref{tx}.inside());
    held->verify_in(tx);
    tx.commit();
    EXPECT_EQ(current().read_counter(), before + 1);
}

TEST_F(row_lock_suite, a_key_whose_lease_ran_out_under_a_proof_is_listed_and_no_other) {
    session dying{first_, calm("dying")}, heir{second_, calm("heir")};
    const std::string stem = fresh("listed");
    const key locked = stem + "/locked", dead = stem + "/dead", live = stem + "/live";
    auto a = mutex{dying, locked}.try_acquire();
    auto b = mutex{dying, dead}.try_acquire();
    auto c = mutex{heir, live}.try_acquire();
    EXPECT_TRUE(list_row_locks(owner_, stem).empty());
    expire(dying);
    transaction tx = first_.begin();
    a->verify_in(tx);
    EXPECT_TRUE(eventually([&] { return is_among(list_row_locks(owner_, stem), locked); }));
    const auto all = list_row_locks(owner_, stem);
    EXPECT_FALSE(is_among(all, live));
    // On an engine that locks the whole file, every key that has run out is closed.
    EXPECT_EQ(is_among(all, dead), current().name == "sqlite");
    EXPECT_TRUE(list_locks(second_, stem + "/locked").empty());
    tx.rollback();
    EXPECT_TRUE(eventually([&] { return list_row_locks(owner_, stem).empty(); }));
    auto taken = mutex{heir, locked}.try_acquire();
    EXPECT_TRUE(taken);
}

// On servers: a try waits for no proof, that of a holder whose lease has run out neither.
TEST_F(row_lock_suite, a_try_for_a_key_that_ran_out_under_a_proof_is_refused_at_once) {
    if (!current().has_concurrent_writers || current().name == "memory") {
        GTEST_SKIP() << "one writer: who wants to write waits for the file";
    }
    session dying{first_, calm("dying")}, heir{second_, calm("heir")};
    const key name = fresh("k");
    auto held = mutex{dying, name}.try_acquire();
    expire(dying);
    transaction tx = first_.begin();
    held->verify_in(tx);
    const auto refused = mutex{heir, name}.try_acquire();  // a wait would throw in the end
    EXPECT_FALSE(refused);
    EXPECT_FALSE(refused.holder()) << "nobody live has it";
    tx.rollback();
    EXPECT_TRUE((mutex{heir, name}.try_acquire()));
}

TEST_F(row_lock_suite, what_is_no_prefix_is_refused) {
    const auto failure = thrown_by([&] { list_row_locks(owner_, std::string(256, 'x')); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
}

}  // namespace
}  // namespace leasehold::testing
