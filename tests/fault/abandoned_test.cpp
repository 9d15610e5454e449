// Connections that were given up live on at the server. They count against the pool, and are ended:
// however often a call tries again, the server has no more of them than the pool may have.
#include "fault/relay.hpp"
#include "fault/suite.hpp"
#include "fault/where.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

class abandoned_connections : public server_suite {
protected:
    static constexpr int bound = 2;

    database open_by_relay() const {
        database_settings settings;
        settings.names = first_.settings().names;
        settings.max_connections = bound;
        settings.statement_timeout = 500ms;
        settings.pool_timeout = 5s;
        return open_at(with_port(url_, relay_.port()), settings);
    }
    int connected(const std::vector<std::int64_t>& ids) {
        return static_cast<int>(std::count_if(ids.begin(), ids.end(), [&](std::int64_t each) {
            return ask([&](connection& on) { return server_->is_connected(on, each); });
        }));
    }

    const std::string url_ = program_url_of(current().name, first_);
    relay relay_{host_of(url_), port_of(url_)};
};

// The bytes under way go nowhere, and the server is never told that its client has gone.
TEST_F(abandoned_connections, are_no_more_than_the_pool_may_have) {
    const database db = open_by_relay();
    std::vector<std::int64_t> ids;
    constexpr int attempts = 8;
    for (int each = 0; each < attempts; ++each) {
        const auto failure = thrown_by([&] {
            transaction tx = db.begin();
            ids.push_back(id_of(tx));
            relay_.swallow_old();
            tx.execute("SELECT 1");
        });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::timed_out) << failure->what();
        EXPECT_LE(connected(ids), bound + 1);
    }
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(attempts));
    EXPECT_EQ(db.server().version > 0, true);
}

}  // namespace
}  // namespace leasehold::testing
