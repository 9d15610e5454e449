// The doctor's findings about Galera and about Group Replication with several primaries.
#include "leasehold/doctor.hpp"

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "support/eventually.hpp"
#include "support/findings.hpp"

namespace leasehold::testing {
namespace {

TEST(cluster_doctor, says_that_several_may_be_written_to) {
    const cluster all;
    const auto told = examined(all.open(0), "several_writers");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->severity, severity::good);
    EXPECT_NE(told->what.find("3 "), std::string::npos) << told->what;
    EXPECT_NE(told->what.find("certified by the cluster"), std::string::npos) << told->what;
    database_settings settings;
    settings.one_node_is_written_to = true;
    const auto one = examined(all.open(0, settings), "several_writers");
    ASSERT_TRUE(one);
    EXPECT_NE(one->what.find("this program says"), std::string::npos) << one->what;
    EXPECT_FALSE(examined(all.open(0), "node_not_ready"));
}

TEST(cluster_doctor, says_that_a_node_is_not_synchronised) {
    const cluster all;
    const database node = all.open(2);
    const bool is_galera = node.server().engine == engine::mariadb;
    node.execute(is_galera ? "SET GLOBAL wsrep_desync = ON" : "STOP GROUP_REPLICATION");
    std::optional<finding> told;
    eventually([&] { return (told = examined(node, "node_not_ready")).has_value(); });
    // A member that has left the group takes no writes.
    const bool is_unsuitable = examined(node, "unsuitable").has_value();
    node.execute(is_galera ? "SET GLOBAL wsrep_desync = OFF" : "START GROUP_REPLICATION");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->severity, severity::warning);
    EXPECT_NE(is_unsuitable, is_galera);
    if (!is_galera) {
        EXPECT_NE(told->what.find("OFFLINE"), std::string::npos) << told->what;
    }
    EXPECT_TRUE(eventually([&] { return !examined(node, "node_not_ready"); }));
}

}  // namespace
}  // namespace leasehold::testing
