// Real processes: killed, stopped and forked while they hold a key. On every engine that processes
// can share.
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "conformance/suite.hpp"
#include "fault/child.hpp"
#include "fault/where.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class process_fault : public suite {
protected:
    static constexpr std::chrono::milliseconds ttl{6000};
    // The time to find out and to take, on a busy machine.
    static constexpr std::chrono::milliseconds tolerance{4000};

    std::vector<std::string> command(
        const std::string& name, const char* mode, std::chrono::milliseconds lives = ttl
    ) {
        return {
            beside_this_program("fault_holder_" + current().name),
            program_url_of(current().name, first_),
            first_.settings().names.prefix,
            name,
            std::to_string(lives.count()),
            mode};
    }

    // The token of "held TOKEN" or "got TOKEN", or 0.
    static std::int64_t token_in(
        const std::optional<std::string>& line, const std::string& word = "held "
    ) {
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
    EXPECT_FALSE(is_granted(mutex(heir_, name).try_acquire()));
    holder.kill();
    const auto death = local_clock::now();
    auto got = mutex{heir_, name}.acquire_for(20s);
    ASSERT_TRUE(got);
    EXPECT_LE(local_clock::now() - death, ttl + tolerance);
    EXPECT_EQ(got->token().number, token + 1);
}

// A hold of a key that several may hold at once dies with its holder alone.
TEST_F(process_fault, what_a_killed_process_held_of_another_kind_is_free_within_one_ttl) {
    for (const char* mode : {"shared", "permit"}) {
        const auto name = fresh(mode);
        const auto take = [&](std::chrono::nanoseconds timeout) {
            return std::string_view{mode} == "permit"
                       ? semaphore{heir_, name, 1}.acquire_for(timeout)
                       : shared_mutex{heir_, name}.acquire_for(timeout);
        };
        child holder{command(name, mode)};
        const auto token = token_in(holder.line());
        ASSERT_GT(token, 0) << mode;
        EXPECT_FALSE(is_granted(take(0s))) << mode;
        holder.kill();
        const auto death = local_clock::now();
        auto got = take(20s);
        ASSERT_TRUE(got) << mode;
        EXPECT_LE(local_clock::now() - death, ttl + tolerance) << mode;
        EXPECT_GT(got->token().number, token) << mode;
    }
}

// Each holds a key and waits for the next one's, until one is told that its waiting would not end.
TEST_F(process_fault, a_circle_of_processes_is_found_by_one_that_would_close_it) {
    for (const std::size_t number : {2U, 3U}) {
        std::vector<std::string> names;
        std::vector<std::unique_ptr<child>> all;
        for (std::size_t each = 0; each < number; ++each) {
            names.push_back(fresh("circle"));
            all.push_back(std::make_unique<child>(command(names.back(), "hold", 10s)));
            ASSERT_GT(token_in(all.back()->line()), 0);
        }
        for (std::size_t each = 0; each + 1 < number; ++each) {
            all[each]->say("wait " + names[each + 1]);
            ASSERT_TRUE(eventually([&] { return describe(second_, names[each + 1])->waiters == 1; })
            );
        }
        all.back()->say("wait " + names.front());
        // As a rule the last one is told; another that queued and has not looked may see it, too.
        std::size_t told = 0;
        ASSERT_TRUE(eventually([&] {
            const auto said = all[told]->line(50ms);
            if (!said) {
                told = (told + 1) % number;
                return false;
            }
            EXPECT_EQ(said, "refused would_deadlock");
            return true;
        }));
        // It still has its own; with its death the one before it goes on.
        all[told]->say("verify_in");
        EXPECT_EQ(all[told]->line(), "proved");
        all[told]->kill();
        const auto next = all[(told + number - 1) % number]->line();
        EXPECT_TRUE(token_in(next, "got ") > 0 || next == "refused would_deadlock")
            << next.value_or("nothing");
    }
}

// The process may be taking, releasing, or in between at that moment.
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
    session parent{first_, alert("parent")};
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
