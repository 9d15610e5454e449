// A URL with several hosts, on a server of the test's own that stops taking writes.
#include "fault/relay.hpp"
#include "fault/suite.hpp"
#include "fault/where.hpp"
#include "support/granted.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

class outage_hosts : public server_suite {
protected:
    ~outage_hosts() override { set_read_only(false); }

    void set_read_only(bool is_so) {
        ask([&](connection& on) {
            on.execute(std::string("SET GLOBAL read_only = ") + (is_so ? "1" : "0"), {});
            return 0;
        });
    }
    // A host that nobody is at comes first.
    database open() const {
        database_settings settings;
        settings.names = first_.settings().names;
        const auto hosts = url_.find('@') + 1;
        return open_at(url_.substr(0, hosts) + "127.0.0.1:1," + url_.substr(hosts), settings);
    }
    const std::string url_ = program_url_of(current().name, first_);
};

TEST_F(outage_hosts, one_that_takes_no_writes_is_waited_for) {
    session early{open(), calm("early")};
    EXPECT_TRUE((mutex{early, fresh("k")}.try_acquire()));
    set_read_only(true);
    const auto failure = thrown_by([&] { (void)session{open(), calm("late")}; });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::connection_failed);
    EXPECT_TRUE(failure->is_transient());
    const std::string said = failure->what();
    EXPECT_NE(said.find("no host of the URL takes writes"), std::string::npos) << said;
    EXPECT_NE(said.find("127.0.0.1:1 cannot be reached"), std::string::npos) << said;
    EXPECT_NE(said.find(" takes no writes;"), std::string::npos) << said;
    set_read_only(false);
    session late{open(), calm("late")};
    EXPECT_TRUE((mutex{late, fresh("k")}.try_acquire()));
}

// Behind a proxy that lets its sessions live: a pool full of them, on a server that was demoted.
class outage_demoted : public outage_hosts {
protected:
    database open_by_relay() const {
        database_settings settings;
        settings.names = first_.settings().names;
        settings.pool_timeout = 1500ms;
        return open_at(with_port(url_, relay_.port()), settings);
    }
    relay relay_{host_of(url_), port_of(url_)};
};

TEST_F(outage_demoted, a_server_is_left_by_all_connections_of_before) {
    const database db = open_by_relay();
    session one{db, calm("one")};
    EXPECT_TRUE((mutex{one, fresh("k")}.try_acquire()));
    const auto fill = [&] {
        constexpr int connections = 4;
        std::vector<std::int64_t> ids;
        std::vector<transaction> all;
        for (int each = 0; each < connections; ++each) {
            all.push_back(db.begin());
            ids.push_back(id_of(all.back()));
        }
        return ids;
    };
    const std::vector<std::int64_t> before = fill();
    set_read_only(true);
    const auto refused = thrown_by([&] {
        transaction tx = db.begin();
        current().increment_counter(transaction_ref{tx}.inside());
    });
    ASSERT_TRUE(refused);
    EXPECT_TRUE(refused->is_transient()) << refused->what();
    EXPECT_EQ(refused->code(), errc::read_only) << refused->what();
    // The pool lends none of the old ones; a new connection leads there still, and may read.
    const auto again = thrown_by([&] { (void)mutex{one, fresh("k")}.try_acquire(); });
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->is_transient()) << again->what();
    EXPECT_FALSE(list_sessions(db).empty());
    for (const std::int64_t each : before) {
        EXPECT_TRUE(eventually([&] {
            return !ask([&](connection& on) { return server_->is_connected(on, each); });
        })) << each;
    }
    auto wanted = std::async(std::launch::async, [&] {
        return is_granted(mutex{one, fresh("k")}.acquire_for(20s));
    });
    set_read_only(false);
    EXPECT_TRUE(wanted.get());
    EXPECT_TRUE(eventually([&] { return one.is_live() && !fill().empty(); }));
}

}  // namespace
}  // namespace leasehold::testing
