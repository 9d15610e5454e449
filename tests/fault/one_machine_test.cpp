// SQLite alone goes by one kernel's clock, which a time namespace sets off for some of its
// processes, and by one write lock, for which there is no queue.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "conformance/suite.hpp"
#include "fault/child.hpp"
#include "fault/where.hpp"

namespace leasehold::testing {
namespace {

class one_machine_fault : public suite {
protected:
    static constexpr std::chrono::milliseconds ttl{6000};

    // Runs what is behind it in a time namespace of its own, whose clock since boot is a day ahead.
    static std::vector<std::string> another_time() {
        std::vector<std::string> words{"/usr/bin/unshare", "--time", "--boottime", "100000"};
        if (geteuid() != 0) words.insert(words.end(), {"--user", "--map-root-user"});
        words.emplace_back("--kill-child");
        return words;
    }
    static bool is_permitted() {
        std::string command;
        for (const std::string& word : another_time()) command += word + " ";
        return std::system((command + "true").c_str()) == 0;
    }
    std::vector<std::string> holder(const std::string& name) {
        std::vector<std::string> words = another_time();
        words.insert(
            words.end(),
            {beside_this_program("fault_holder_" + current().name),
             program_url_of(current().name, first_),
             first_.settings().names.prefix,
             name,
             std::to_string(ttl.count()),
             "hold"}
        );
        return words;
    }
    bool is_awaited(const std::string& name) {
        const auto seen = describe(second_, name);
        return seen && seen->waiters > 0;
    }

    session heir_{second_, calm("heir")};
};

TEST_F(one_machine_fault, a_time_namespace_has_the_machines_clock) {
    if (!is_permitted()) {
        ASSERT_NE(geteuid(), 0U) << "root cannot make a time namespace";
        GTEST_SKIP() << "this user may make no time namespace";
    }
    const auto theirs = fresh("theirs"), ours = fresh("ours");
    auto held = mutex{heir_, ours}.try_acquire();
    ASSERT_TRUE(held);
    child holder_there{holder(theirs)};
    const auto said = holder_there.line();
    ASSERT_TRUE(said);
    EXPECT_EQ(said->substr(0, 5), "held ");
    // A lock that is live here is live there.
    holder_there.say("wait " + ours);
    EXPECT_TRUE(eventually([&] { return is_awaited(ours) || !held->verify(); }));
    EXPECT_TRUE(held->verify());
    EXPECT_EQ(describe(second_, ours)->token.number, held->token().number);
    // The key that a killed process held there is free here within its ttl.
    holder_there.kill();
    EXPECT_TRUE(mutex(heir_, theirs).acquire_for(20s));
}

// Naps of 5 ms, however long one has waited, would be 1,600 at most: they are jittered down to a
// half. Counted by what the thread slept, so that a busy machine makes no difference but to how
// few they may be.
TEST_F(one_machine_fault, who_has_little_time_left_asks_often_for_the_write_lock) {
    constexpr std::chrono::milliseconds timeout{4000};
    constexpr long naps_at_least = 1700;
    database_settings settings;
    settings.names = first_.settings().names;
    settings.statement_timeout = timeout;
    const database hasty = open_at(program_url_of(current().name, first_), settings);
    const transaction holder = second_.begin();
    const auto naps = [] {
        rusage used{};
        getrusage(RUSAGE_THREAD, &used);
        return used.ru_nvcsw;
    };
    const long before = naps();
    const auto failure = thrown_by([&] { const transaction tx = hasty.begin(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::transient);
    EXPECT_GT(naps() - before, naps_at_least);
}

}  // namespace
}  // namespace leasehold::testing
