// A server that restarts, or a proxy in front of it, cuts connections while they are made: a wait
// goes on for as long as its session lives.
// This comes first: the rest declares a leasehold::testing, which hides the framework's.
#include "mysql_support.hpp"

#include "fault/relay.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/leasehold.hpp"
#include "support/calm.hpp"
#include "support/granted.hpp"
#include "support/patient.hpp"
#include "support/thread.hpp"
#include "support/url.hpp"

namespace leasehold::testing_mysql {
namespace {

class mysql_handshake : public mysql_test {
protected:
    database at(const std::string& url, database_settings settings = {}) const {
        settings.names.prefix = name_ + "_";
        return mysql::open(url, settings);
    }
};

TEST_F(mysql_handshake, cut_during_tls_may_pass) {
    testing::relay between{testing::host_of(url_), testing::port_of(url_)};
    between.cut_handshakes(true);
    auto to = address_;
    to.port = between.port();
    to.tls = mysql::tls_mode::preferred;
    const auto cut = failure_of([&] { mysql::connect(to, 10s, 10s); });
    EXPECT_EQ(between.handshakes_cut(), 1);
    EXPECT_EQ(cut.code(), errc::connection_failed);
    EXPECT_EQ(cut.native_code(), 2026) << cut.what();
    EXPECT_TRUE(cut.is_transient()) << cut.what();
    EXPECT_FALSE(cut.outcome_is_unknown());
    to.tls = mysql::tls_mode::verify_identity;  // before there is a certificate to look at
    const auto unseen = failure_of([&] { mysql::connect(to, 10s, 10s); });
    EXPECT_TRUE(unseen.is_transient()) << unseen.what();
    between.cut_handshakes(false);
    to.tls = mysql::tls_mode::disabled;
    EXPECT_NO_THROW(mysql::connect(to, 10s, 10s));
}

TEST_F(mysql_handshake, cut_during_tls_does_not_end_a_wait) {
    testing::relay between{testing::host_of(url_), testing::port_of(url_)};
    const database direct = at(url_, testing::patient());
    const database through =
        at(testing::with_option(testing::with_port(url_, between.port()), "ssl-mode=PREFERRED"));
    migrate(direct);
    {
        session holder{direct, testing::calm("holder")};
        session waiter{through, testing::calm("waiter")};
        auto held = mutex{holder, "k"}.try_acquire();
        ASSERT_TRUE(held);
        std::atomic<bool> has_ended = false, has_got = false;
        testing::thread waiting{[&] {
            mutex_settings keen;
            keen.min_poll = 1ms;
            keen.max_poll = 20ms;
            try {
                has_got = testing::is_granted(mutex{waiter, "k", keen}.acquire_for(2min));
            } catch (const error& failure) {
                ADD_FAILURE() << "the wait ended: " << failure.what();
            }
            has_ended = true;
        }};
        ASSERT_TRUE(poll_until([&] { return describe(direct, "k")->waiters == 1; }));
        between.cut_handshakes(true);
        between.strand();
        EXPECT_TRUE(poll_until([&] { return between.handshakes_cut() >= 3 || has_ended; }, 60s));
        EXPECT_FALSE(has_ended);
        EXPECT_TRUE(waiter.is_live());
        between.cut_handshakes(false);
        EXPECT_EQ(held->release(), release_outcome::released);
        EXPECT_TRUE(poll_until([&] { return has_ended.load(); }, 60s));
        EXPECT_TRUE(has_got);
    }
    // The waiter's good-bye may have met a connection that was stranded.
    direct.execute("DELETE FROM " + name_ + "_session");
    migrate_down(direct, 0);
}

}  // namespace
}  // namespace leasehold::testing_mysql
