// Finds the descendants of a process, whatever their names and groups are, and nobody else.
#include "cli/run/descendants.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace leasehold::cli {
namespace {

// A tree of three, whose processes have the names of others' fields and groups of their own.
class family : public ::testing::Test {
protected:
    family() {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe(ends.data()), 0);
        root_ = fork();
        if (root_ == 0)
            live("root", ends[1], [&] {
                if (fork() == 0)
                    live(") Z 1 1 (x", ends[1], [&] {
                        if (fork() == 0) live("a b) S", ends[1], [] {});
                    });
            });
        close(ends[1]);
        std::array<char, 3> words{};
        for (char& each : words) EXPECT_EQ(read(ends[0], &each, 1), 1);
        close(ends[0]);
    }
    ~family() override {
        everyone_.signal(getpid(), 0, SIGKILL);
        while (waitpid(-1, nullptr, 0) > 0) {
        }
    }
    family(const family&) = delete;
    family& operator=(const family&) = delete;

    template <class Begin>
    [[noreturn]] static void live(const char* name, int ready, Begin begin) {
        setpgid(0, 0);
        prctl(PR_SET_NAME, name);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        begin();
        [[maybe_unused]] const auto written = write(ready, "", 1);
        while (true) pause();
    }

    pid_t root_ = -1;
    descendants everyone_;
};

TEST_F(family, all_below_are_found_and_the_root_is_not) {
    EXPECT_EQ(everyone_.signal(root_, 0, 0).living, 2);
    EXPECT_EQ(everyone_.signal(root_, 0, 0).reached, 2);
    EXPECT_EQ(everyone_.signal(getpid(), 0, 0).living, 3);
}

TEST_F(family, a_spared_group_gets_nothing) {
    const auto found = everyone_.signal(getpid(), root_, SIGCONT);
    EXPECT_EQ(found.living, 3);
    EXPECT_EQ(found.reached, 2);
}

TEST_F(family, what_has_ended_lives_no_more) {
    kill(root_, SIGKILL);
    siginfo_t seen{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(root_), &seen, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(everyone_.signal(getpid(), 0, 0).living, 0);
}

TEST_F(family, nobody_comes_of_a_number_that_is_not_there) {
    EXPECT_EQ(everyone_.signal(2'000'000'000, 0, SIGKILL).living, 0);
    EXPECT_EQ(everyone_.signal(root_, 0, 0).living, 2);
}

}  // namespace
}  // namespace leasehold::cli
