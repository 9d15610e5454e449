// SQLite: an older copy is put in the place of the file that everybody has open. A process that
// opens the database from then on has that one.
#include <filesystem>
#include <set>

#include "conformance/suite.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/migrate.hpp"
#include "support/folder.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

namespace fs = std::filesystem;

class replaced_file : public ::testing::Test {
protected:
    replaced_file() { migrate(open()); }

    database open() const { return sqlite::open("sqlite:" + (in_ / "locks.db").string(), {}); }
    // Time enough between two heartbeats to copy files that nobody writes to.
    static session_settings steady() {
        auto settings = calm("one");
        settings.ttl = 10min;
        settings.heartbeat_every = 3s;
        return settings;
    }
    static void wait_for_heartbeat(const session& of) {
        const auto deadline = of.deadline();
        EXPECT_TRUE(eventually([&] { return of.deadline() > deadline; }));
    }
    void keep() const {
        fs::copy_file(in_ / "locks.db", in_ / "kept.db");
        fs::copy_file(in_ / "locks.db-wal", in_ / "kept.db-wal");
    }
    void put_back() const {
        fs::remove(in_ / "locks.db-shm");
        fs::rename(in_ / "kept.db-wal", in_ / "locks.db-wal");
        fs::rename(in_ / "kept.db", in_ / "locks.db");
    }

    const folder in_;
};

TEST_F(replaced_file, a_grant_that_is_not_in_it_is_told_to_its_holder_within_a_heartbeat) {
    session one{open(), steady()};
    auto kept = mutex{one, "kept"}.try_acquire();
    auto released = mutex{one, "released"}.try_acquire();
    ASSERT_TRUE(kept && released);
    wait_for_heartbeat(one);
    keep();
    auto held = mutex{one, "k"}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(released->release(), release_outcome::released);
    put_back();
    session other{open(), calm("other")};
    EXPECT_TRUE(mutex(other, "k").try_acquire());
    EXPECT_TRUE(stopped(held->lost(), 20s));
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    EXPECT_TRUE(one.is_live());
    EXPECT_FALSE(kept->lost().stop_requested());
    EXPECT_FALSE(is_granted(mutex(other, "kept").try_acquire()));
    EXPECT_TRUE(eventually([&] { return is_granted(mutex(other, "released").try_acquire()); }))
        << "its release is not in the file either";
}

// A log lies beside each name, so a program that uses the other one would be granted held keys.
TEST_F(replaced_file, a_file_of_two_names_is_refused_and_a_symbolic_link_is_the_same_database) {
    session one{open(), calm("one")};
    auto held = mutex{one, "k"}.try_acquire();
    ASSERT_TRUE(held);
    const auto named = [&](const char* name) {
        return sqlite::open("sqlite:" + (in_ / name).string(), {});
    };
    fs::create_symlink("locks.db", in_ / "symbolic.db");
    session same{named("symbolic.db"), calm("same")};
    EXPECT_FALSE(is_granted(mutex(same, "k").try_acquire()));
    transaction tx = same.database().begin();
    held->verify_in(tx);
    tx.rollback();
    fs::create_hard_link(in_ / "locks.db", in_ / "hard.db");
    for (const char* each : {"hard.db", "locks.db"}) {
        const auto refused = thrown_by([&] { session{named(each), calm("other")}.end(); });
        ASSERT_TRUE(refused) << each;
        EXPECT_EQ(refused->code(), errc::unsupported) << refused->what();
    }
    EXPECT_TRUE(held->verify()) << "on the connection that was open before";
    fs::remove(in_ / "hard.db");
    session again{open(), calm("again")};
    EXPECT_FALSE(is_granted(mutex(again, "k").try_acquire()));
}

// The same URL leads to another database, as after a fail-over: what is here is not there.
TEST_F(replaced_file, a_url_that_leads_elsewhere_proves_nothing) {
    fs::rename(in_ / "locks.db", in_ / "first.db");
    fs::create_symlink("first.db", in_ / "locks.db");
    session one{open(), calm("one")};
    auto held = mutex{one, "k"}.try_acquire();
    ASSERT_TRUE(held);
    fs::remove(in_ / "locks.db");
    fs::create_symlink("second.db", in_ / "locks.db");
    migrate(open());
    database elsewhere = open();
    transaction tx = elsewhere.begin();
    const auto refused = thrown_by([&] { held->verify_in(tx); });
    ASSERT_TRUE(refused);
    const std::set<errc> right{errc::lease_lost, errc::wrong_transaction};
    EXPECT_TRUE(right.contains(refused->code())) << refused->what();
    tx.rollback();
    EXPECT_TRUE(mutex(one, "other").try_acquire()) << "it goes on where it began, or throws";
}

}  // namespace
}  // namespace leasehold::testing
