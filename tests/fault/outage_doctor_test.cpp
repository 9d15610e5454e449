// The doctor while the server is away for longer than any ttl, and when it goes away in the middle
// of an examination: it ends in time, and says so. The server is stopped, so CTest gives these one
// of their own, as fault_outage.<backend>.
#include <future>

#include "fault/impatient.hpp"
#include "fault/relay.hpp"
#include "fault/server_control.hpp"
#include "fault/suite.hpp"
#include "fault/where.hpp"
#include "leasehold/doctor.hpp"
#include "support/findings.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::milliseconds;

// Its processes stand still; it is killed, and refuses; or the network swallows what is sent.
enum class gone { silent, refusing, swallowed };

class outage_doctor : public server_suite, public ::testing::WithParamInterface<gone> {
protected:
    static constexpr milliseconds limit{1000};      // of a connection, and of an answer
    static constexpr milliseconds tolerance{5000};  // for a machine that stands still

    // Through the network that may fail.
    database open() const {
        database_settings settings = impatient(limit);
        settings.names = first_.settings().names;
        return open_at(with_port(url_, between_.port()), settings);
    }
    void cut() {
        if (GetParam() == gone::silent) control_.pause();
        if (GetParam() == gone::refusing) control_.kill();
        if (GetParam() == gone::swallowed) between_.swallow();
    }
    void mend() {
        if (GetParam() == gone::silent) control_.resume();
        if (GetParam() == gone::refusing) control_.start();
        if (GetParam() == gone::swallowed) between_.mend();
    }
    static milliseconds since(local_clock::time_point start) {
        return std::chrono::duration_cast<milliseconds>(local_clock::now() - start);
    }

    const std::string url_ = program_url_of(current().name, first_);
    relay between_{host_of(url_), port_of(url_)};
    server_control control_{current().name};
};

std::string name_of_gone(const ::testing::TestParamInfo<gone>& info) {
    constexpr const char* names[] = {"silent", "refusing", "swallowed"};
    return names[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(
    of,
    outage_doctor,
    ::testing::Values(gone::silent, gone::refusing, gone::swallowed),
    name_of_gone
);

TEST_P(outage_doctor, longer_than_a_ttl_is_said_in_time_and_what_to_do) {
    const database db = open();
    auto settings = calm("holder");
    settings.ttl = 6s;
    settings.heartbeat_every = 1s;
    settings.margin = 2500ms;
    session holder{db, settings};
    const key name = fresh("k");
    auto held = mutex{holder, name}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_FALSE(examined(db, "unreachable"));
    cut();
    ASSERT_TRUE(stopped(held->lost(), 30s)) << "its ttl is not over";

    // The tool asks like the first, and a program that has a connection already like the second.
    for (const auto& [asker, most] : {std::pair{open(), 2 * limit}, std::pair{db, 4 * limit}}) {
        const auto start = local_clock::now();
        const auto all = diagnose(asker);
        EXPECT_LE(since(start), most + tolerance);
        ASSERT_FALSE(all.empty());
        for (const finding& each : all) {
            EXPECT_EQ(each.name == "unreachable", &each == &all.back()) << names_of(all);
        }
        EXPECT_LE(all.size(), most == 2 * limit ? 1U : 2U) << names_of(all);
        EXPECT_EQ(all.back().severity, severity::error);
        EXPECT_FALSE(all.back().why.empty());
        EXPECT_FALSE(all.back().remedy.empty());
    }
    const auto start = local_clock::now();
    const auto refused = thrown_by([&] { diagnose_key(db, name); });
    EXPECT_LE(since(start), 2 * limit + tolerance);
    EXPECT_TRUE(refused);

    mend();
    EXPECT_TRUE(eventually([&] { return !examined(db, "unreachable"); }, 60s));
}

TEST_P(outage_doctor, in_the_middle_ends_the_examination) {
    const auto by = std::make_shared<traffic>();
    const database db = watched(
        open(), by, [](connection&) { return std::int64_t{1}; }, impatient(limit)
    );
    EXPECT_FALSE(examined(db, "unreachable"));
    const std::size_t before = by->statements().size();
    constexpr std::size_t some = 12;  // of some thirty, and more
    between_.delay_by(50ms);
    auto examination = std::async(std::launch::async, [&] { return diagnose(db); });
    ASSERT_TRUE(eventually([&] { return by->statements().size() >= before + some; }));
    cut();
    const auto start = local_clock::now();
    // One question, and one try more.
    ASSERT_EQ(examination.wait_for(60s), std::future_status::ready) << "it hangs";
    EXPECT_LE(since(start), 4 * limit + tolerance);
    const auto all = examination.get();
    mend();
    const auto last = find(all, "unreachable");
    ASSERT_TRUE(last) << names_of(all);
    EXPECT_EQ(last->severity, severity::error);
    EXPECT_EQ(all.back().name, "unreachable") << names_of(all);
    EXPECT_TRUE(find(all, "server")) << "what was found before is kept: " << names_of(all);
    EXPECT_NE(last->remedy.find("run the doctor again"), std::string::npos) << last->remedy;
}

}  // namespace
}  // namespace leasehold::testing
