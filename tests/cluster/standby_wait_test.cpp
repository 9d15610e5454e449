// A commit that waits for a standby which is gone: its wait is ended on the server that it is on,
// and on no other one that a proxy may lead to.
#include <libpq-fe.h>

#include <cstdlib>

#include "cluster/standbys.hpp"
#include "driver/postgres_connect.hpp"
#include "driver/postgres_settings.hpp"
#include "driver/postgres_standby_wait.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using postgres::server_origin;
using postgres::set_up_question;

class standby_wait : public standbys {
protected:
    void SetUp() override {
        standbys::SetUp();
        cluster_.control(primary(), "isolate");
    }
    void TearDown() override {
        cluster_.control(primary(), "rejoin");
        standbys::TearDown();
    }

    std::string text(const std::string& sql) const {
        return cluster_.open(primary()).execute(sql).rows.at(0).text(0);
    }
    bool waits(const PGconn* on) const {
        return text(
                   "SELECT coalesce(wait_event, '') FROM pg_stat_activity WHERE pid = " +
                   std::to_string(PQbackendPID(on))
               ) == "SyncRep";
    }
    static postgres::connection_handle connect() {
        return postgres::connection_handle{PQconnectdb(std::getenv("LEASEHOLD_TEST_CLUSTER_URL"))};
    }
    // A commit that nobody confirms.
    postgres::connection_handle waiting() const {
        postgres::connection_handle on = connect();
        EXPECT_EQ(PQsendQuery(on.get(), "CREATE TEMPORARY TABLE t ()"), 1)
            << PQerrorMessage(on.get());
        EXPECT_TRUE(eventually([&] { return waits(on.get()); }));
        return on;
    }
    server_origin origin(set_up_question how) const {
        return {text("SELECT " + postgres::origin_words(how)), how};
    }
    static local_clock::time_point soon() { return local_clock::now() + 10s; }
};

TEST_F(standby_wait, is_ended_on_its_own_server_alone) {
    for (const auto how : {set_up_question::all, set_up_question::without_system}) {
        const auto on = waiting();
        const server_origin here = origin(how);
        EXPECT_FALSE(postgres::end_standby_wait(on.get(), {}, soon()));
        EXPECT_FALSE(postgres::end_standby_wait(on.get(), {"1" + here.text, how}, soon()));
        EXPECT_FALSE(postgres::end_standby_wait(on.get(), {here.text + "1", how}, soon()));
        EXPECT_TRUE(waits(on.get()));
        EXPECT_TRUE(postgres::end_standby_wait(on.get(), here, soon()));
        EXPECT_TRUE(eventually([&] { return !waits(on.get()); }));
    }
}

TEST_F(standby_wait, that_was_left_is_ended_on_its_own_server_alone) {
    const auto on = waiting();
    const auto next = connect();
    ASSERT_EQ(PQsetnonblocking(next.get(), 1), 0);
    const server_origin here = origin(set_up_question::all);
    postgres::left_waits left;
    left.add({"another", here.how}, PQbackendPID(on.get()));
    left.end_on(next.get(), here, soon());
    EXPECT_TRUE(waits(on.get()));
    left.add(here, PQbackendPID(on.get()));
    left.end_on(next.get(), here, soon());
    EXPECT_TRUE(eventually([&] { return !waits(on.get()); }));
}

}  // namespace
}  // namespace leasehold::testing
