// A URL with several hosts, on a server of the test's own that stops taking writes.
#include "fault/suite.hpp"
#include "fault/where.hpp"
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
    const auto failure = thrown_by([&] { session{open(), calm("late")}; });
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

}  // namespace
}  // namespace leasehold::testing
