// The history of grants where several nodes are written to: whichever node ends a grant writes it
// down, once, and all nodes have it.
#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "database/database.hpp"
#include "leasehold/leasehold.hpp"
#include "locks/hold_store.hpp"
#include "session/session_store.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

TEST(history_in_a_cluster, is_written_by_the_node_that_ends_a_grant) {
    const cluster nodes;
    const database first = nodes.open(0), second = nodes.open(1), third = nodes.open(2);
    enable_grant_history(first);
    // The other nodes make the triggers when they come to it.
    ASSERT_TRUE(eventually([&] {
        const auto on_second = grant_history_state(second), on_third = grant_history_state(third);
        return on_second.is_on && on_third.is_on && !on_second.is_broken && !on_third.is_broken;
    }));
    const key name{"key"};
    for (const database* each : {&first, &second, &third}) {
        session one{*each, calm("one")};
        auto held = mutex{one, name}.acquire_for(20s);
        ASSERT_TRUE(held);
    }
    const session_id dead = session_id::random();
    first.inner()->use([&](connection& on, store_set& stores) {
        stores.get<session_store>().start(on, {dead, "dead@host:1", 1h});
        stores.get<hold_store>().try_acquire(
            on, {name, owner_id::random(), dead, "dead@host:1", {}}
        );
        stores.get<session_store>().end(on, dead, std::nullopt);
    });
    session two{second, calm("two")};
    auto held = mutex{two, name}.acquire_for(20s);
    ASSERT_TRUE(held);
    ASSERT_TRUE(force_release(third, name));
    std::string endings;
    eventually([&] {
        endings.clear();
        for (const grant_record& each : list_grants_of(first, name)) {
            endings += std::to_string(each.token.number) + " " + name_of(each.ending) + "; ";
        }
        return endings.starts_with("5");
    });
    EXPECT_EQ(endings, "5 forced; 4 expired; 3 released; 2 released; 1 released; ");
}

}  // namespace
}  // namespace leasehold::testing
