// Real processes: killed, stopped and forked while they hold a key. On every engine that processes
// can share.
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/suite.hpp"
#include "fault/child.hpp"
#include "fault/where.hpp"

namespace leasehold::testing {
namespace {

class process_fault : public suite {
protected:
    static constexpr std::chrono::milliseconds ttl{2000};
    // To find out and to take, on a busy machine.
    static constexpr std::chrono::milliseconds tolerance{2000};

    std::vector<std::string> command(const std::string& name, const char* mode) {
        return {
            beside_this_program("fault_holder_" + current().name),
            url_of(current().name, first_),
            first_.settings().names.prefix,
            name,
            std::to_string(ttl.count()),
            mode};
    }

    // The token of "held TOKEN", or 0.
    static std::int64_t token_in(const std::optional<std::string>& line) {
        const std::string word = "held ";
        if (!line || line->rfind(word, 0) != 0) return 0;
        return std::stoll(line->substr(word.size()));
    }

    session heir_{second_, calm("heir")};
};

TEST_F(process_fault, what_a_killed_process_held_is_free_within_one_ttl) {
    const auto name = fresh("killed");
    child holder{command(name, "hold")};
    const auto token = token_in(holder.line());
    ASSERT_GT(token, 0);
    EXPECT_FALSE(mutex(heir_, name).try_acquire());
    holder.kill();
    const auto death = local_clock::now();
    auto got = mutex{heir_, name}.acquire_for(20s);
    ASSERT_TRUE(got);
    EXPECT_LE(local_clock::now() - death, ttl + tolerance);
    EXPECT_EQ(got->token().number, token + 1);
}

// Whatever it was doing at that moment: taking, releasing, or in between.
TEST_F(process_fault, a_process_may_be_killed_at_any_moment) {
    const auto name = fresh("churn");
    std::int64_t token = 0;
    for (int round = 0; round < 5; ++round) {
        child churner{command(name, "churn")};
        for (int grant = 0; grant < 10 + 7 * round; ++grant) {
            const auto next = token_in(churner.line());
            ASSERT_GT(next, token);
            token = next;
        }
        churner.kill();
        const auto death = local_clock::now();
        auto got = mutex{heir_, name}.acquire_for(20s);
        ASSERT_TRUE(got);
        EXPECT_LE(local_clock::now() - death, ttl + tolerance);
        EXPECT_GT(got->token().number, token);
        token = got->token().number;
        EXPECT_EQ(got->release(), release_outcome::released);
    }
}

// The classic: a process stands still for longer than its lease, and goes on as if nothing were.
TEST_F(process_fault, a_process_that_stood_still_for_too_long_can_prove_nothing) {
    const auto name = fresh("stopped");
    child holder{command(name, "hold")};
    const auto token = token_in(holder.line());
    ASSERT_GT(token, 0);
    holder.say("verify_in");
    ASSERT_EQ(holder.line(), "proved");
    holder.stop();
    auto got = mutex{heir_, name}.acquire_for(20s);
    ASSERT_TRUE(got);
    EXPECT_GT(got->token().number, token);
    holder.say("verify_in");  // it is the first thing it does when it goes on
    holder.go_on();
    std::vector<std::string> words{holder.line().value_or("?"), holder.line().value_or("?")};
    std::sort(words.begin(), words.end());
    // Its clock and the database tell it at the same moment.
    EXPECT_TRUE(words[0] == "lost expired" || words[0] == "lost taken_over") << words[0];
    EXPECT_EQ(words[1], "refused lease_lost");
    EXPECT_TRUE(got->verify());
}

// A child that is forked and ends, as system() and popen() make them, takes nothing with it.
TEST_F(process_fault, a_forked_child_that_ends_takes_nothing_with_it) {
    session parent{first_, brisk("parent")};
    auto held = mutex{parent, fresh("forked")}.try_acquire();
    ASSERT_TRUE(held);
    const pid_t forked = ::fork();
    if (forked == 0) ::_exit(0);
    ASSERT_GT(forked, 0);
    int status = -1;
    ASSERT_EQ(::waitpid(forked, &status, 0), forked);
    EXPECT_EQ(status, 0);
    const auto deadline = parent.deadline();
    EXPECT_TRUE(eventually([&] { return parent.deadline() > deadline + 1s; }));
    EXPECT_TRUE(held->verify());
    EXPECT_TRUE(parent.is_live());
}

}  // namespace
}  // namespace leasehold::testing
