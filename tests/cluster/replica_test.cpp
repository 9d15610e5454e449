// The doctor's findings about a MySQL or MariaDB source and its replica: asynchronous,
// semi-synchronous, and a replica that takes writes.
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/cluster.hpp"
#include "leasehold/doctor.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"
#include "support/findings.hpp"

namespace leasehold::testing {
namespace {

// Node 0 is the source; node 1 the replica, which takes no writes.
class replica_doctor : public ::testing::Test {
protected:
    ~replica_doctor() override {
        if (is_semi_synchronous_) set_semi_sync("OFF");
        replica_.execute("SET GLOBAL read_only = ON");
    }

    bool is_mysql() const { return source_.server().engine == engine::mysql; }
    std::string role_of(const database& node) const {
        if (!is_mysql()) return &node == &source_ ? "master" : "slave";
        return &node == &source_ ? "source" : "replica";
    }

    // MariaDB has it built in, MySQL as plugins. The replica is asked to connect anew.
    void set_semi_sync(const char* to) {
        for (const database* each : {&source_, &replica_}) {
            const std::string role = role_of(*each);
            if (is_mysql() && !is_semi_synchronous_) {
                each->execute(
                    "INSTALL PLUGIN rpl_semi_sync_" + role + " SONAME 'semisync_" + role + ".so'"
                );
            }
            each->execute("SET GLOBAL rpl_semi_sync_" + role + "_enabled = " + to);
        }
        is_semi_synchronous_ = true;
        const std::string thread = is_mysql() ? "REPLICA IO_THREAD" : "SLAVE IO_THREAD";
        replica_.execute("STOP " + thread);
        replica_.execute("START " + thread);
    }
    void set_on_source(const std::string& setting, const std::string& to) const {
        source_.execute(
            "SET GLOBAL rpl_semi_sync_" + role_of(source_) + "_" + setting + " = " + to
        );
    }

    std::optional<finding> soon(const database& node, severity weight, std::string_view part) {
        std::optional<finding> found;
        const bool is_there = eventually([&] {
            found = examined(node, "replication");
            return found && found->severity == weight &&
                   found->what.find(part) != std::string::npos;
        });
        EXPECT_TRUE(is_there) << part << ": " << (found ? found->what : "nothing") << "\n"
                              << names_of(diagnose(node));
        return is_there ? found : std::nullopt;
    }

    const cluster all_;
    const database source_ = all_.open(0), replica_ = all_.open(1);
    bool is_semi_synchronous_ = false;
};

TEST_F(replica_doctor, warns_that_no_commit_waits) {
    const auto told = soon(source_, severity::warning, "1 replica reads the binary log");
    ASSERT_TRUE(told);
    EXPECT_NE(told->what.find("no commit waits for any of them"), std::string::npos) << told->what;
    EXPECT_NE(told->why.find("grants may be forgotten"), std::string::npos) << told->why;
    EXPECT_FALSE(examined(source_, "unsuitable"));
}

TEST_F(replica_doctor, says_for_how_long_commits_wait_and_when_they_wait_no_more) {
    set_semi_sync("ON");
    set_on_source("wait_point", "AFTER_SYNC");
    set_on_source("timeout", "60000");
    const auto told = soon(source_, severity::good, "commits wait until one has it");
    ASSERT_TRUE(told);
    EXPECT_NE(told->what.find("AFTER_SYNC"), std::string::npos) << told->what;
    EXPECT_NE(told->what.find("for 60 s at most"), std::string::npos) << told->what;
    session one{source_, calm("one")};
    ASSERT_TRUE((mutex{one, "key"}.try_acquire()));

    // After the time-out a commit waits for nobody, and the doctor does not go by the setting.
    set_on_source("timeout", "100");
    const std::string thread = is_mysql() ? "REPLICA" : "SLAVE";
    replica_.execute("STOP " + thread);
    ASSERT_TRUE((mutex{one, "other"}.try_acquire()));
    const auto alone = soon(source_, severity::warning, "has none to wait for");
    replica_.execute("START " + thread);
    ASSERT_TRUE(alone);
    EXPECT_NE(alone->remedy.find("100 ms"), std::string::npos) << alone->remedy;
    soon(source_, severity::good, "commits wait until one has it");
}

TEST_F(replica_doctor, says_of_a_replica_whose_it_is_and_that_programs_are_refused) {
    const auto told = soon(replica_, severity::good, "this server is a replica of 127.0.0.1:");
    ASSERT_TRUE(told);
    const auto refused = examined(replica_, "unsuitable");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->severity, severity::error);
    EXPECT_NE(refused->what.find("takes no writes (read_only is on)"), std::string::npos)
        << refused->what;
    EXPECT_THROW((void)session(replica_, calm("one")), error);
}

TEST_F(replica_doctor, may_be_looked_at_there) {
    // The tables come there one by one.
    ASSERT_TRUE(eventually([&] {
        return std::ranges::all_of(migration_status(replica_), &migration_step::is_applied);
    }));
    session one{source_, calm("one")};
    auto held = mutex{one, "seen"}.try_acquire();
    ASSERT_TRUE(held);
    ASSERT_TRUE(eventually([&] { return list_locks(replica_, "seen").size() == 1; }));
    EXPECT_FALSE(list_sessions(replica_).empty());
    EXPECT_TRUE(list_row_locks(replica_).empty());
    const auto told = diagnose_key(replica_, key{"seen"}).findings;
    EXPECT_TRUE(find(told, "held")) << names_of(told);
}

// A replica whose read_only somebody forgot to set refuses nobody.
TEST_F(replica_doctor, warns_of_a_replica_that_takes_writes) {
    replica_.execute("SET GLOBAL read_only = OFF");
    const auto told = soon(replica_, severity::warning, "takes writes of others as well");
    ASSERT_TRUE(told);
    EXPECT_TRUE(told->remedy.starts_with("let programs connect to 127.0.0.1:")) << told->remedy;
    EXPECT_FALSE(examined(replica_, "unsuitable"));
    // A replica that has taken over is none any more.
    const std::string thread = is_mysql() ? "REPLICA" : "SLAVE";
    replica_.execute("STOP " + thread);
    const bool is_told = eventually([&] { return !examined(replica_, "replication"); });
    replica_.execute("START " + thread);
    EXPECT_TRUE(is_told);
}

}  // namespace
}  // namespace leasehold::testing
