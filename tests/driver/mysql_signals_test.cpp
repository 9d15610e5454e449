// SIGPIPE belongs to the process, whatever the client library thinks of it.
#include <csignal>
#include <cstdlib>

#include "mysql_support.hpp"

namespace leasehold::testing_mysql {
namespace {

class mysql_signals : public mysql_test {};

std::atomic<int> raised = 0;

bool is_blocked() {
    sigset_t mask;
    sigemptyset(&mask);
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, SIGPIPE) == 1;
}

// Counts SIGPIPE instead of dying of it.
class counting {
public:
    counting() {
        raised = 0;
        struct sigaction counts {};
        counts.sa_handler = [](int) { ++raised; };
        sigaction(SIGPIPE, &counts, &before_);
    }
    ~counting() { sigaction(SIGPIPE, &before_, nullptr); }

private:
    struct sigaction before_ {};
};

// This runs in a process of its own: the client library does it when it is first used.
TEST_F(mysql_signals, connecting_leaves_sigpipe_as_the_process_had_it) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto stays = [&](sighandler_t wanted) {
        std::signal(SIGPIPE, wanted);
        open()->execute("SELECT 1");
        struct sigaction found {};
        sigaction(SIGPIPE, nullptr, &found);
        std::_Exit(found.sa_handler == wanted && !is_blocked() ? 0 : 1);
    };
    EXPECT_EXIT(stays(SIG_DFL), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(stays(SIG_IGN), ::testing::ExitedWithCode(0), "");
}

TEST_F(mysql_signals, a_connection_that_the_server_closed_raises_none) {
    const auto killer = open();
    const counting handler;
    for (const auto tls : {mysql::tls_mode::disabled, mysql::tls_mode::preferred}) {
        auto to = address_;
        to.tls = tls;
        auto on = mysql::connect(to, 10s, 10s);
        const auto id = id_of(*on);
        killer->execute("KILL CONNECTION " + std::to_string(id));
        EXPECT_TRUE(poll_until([&] {
            return number_from(
                       *killer,
                       "SELECT COUNT(*) FROM information_schema.processlist WHERE id = " +
                           std::to_string(id)
                   ) == 0;
        }));
        EXPECT_EQ(failure_of([&] { on->execute("SELECT 1"); }).code(), errc::connection_lost);
        on.reset();  // says goodbye
        EXPECT_EQ(raised, 0);
        EXPECT_FALSE(is_blocked());
    }
}

// A signal that was pending for the process before our calls is pending afterwards.
TEST_F(mysql_signals, one_that_was_pending_stays_pending) {
    const counting handler;
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    pthread_kill(pthread_self(), SIGPIPE);
    open()->execute("SELECT 1");
    EXPECT_TRUE(is_blocked());
    EXPECT_EQ(raised, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(raised, 1);
}

}  // namespace
}  // namespace leasehold::testing_mysql
