// Ten hosts start the same program at the same time: each migration is applied once.
#include "upkeep/ten_processes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/quorum_lock.hpp"
#include "leasehold/versioned_claim.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {

int migrate_as_child(const std::string& url) {
    char nothing = 0;
    while (read(STDIN_FILENO, &nothing, 1) > 0) continue;
    try {
        const database db = place::open_url(url);
        const auto done = migrate(db);
        require_schema(db);
        std::printf("applied %zu\n", done.size());
        return 0;
    } catch (const error& failure) {
        std::printf(
            "failed: %s (%d, %s)\n",
            failure.what(),
            failure.native_code(),
            failure.server_message().c_str()
        );
        return 1;
    }
}

namespace {

class pipe_pair {
public:
    pipe_pair() {
        if (pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    }
    ~pipe_pair() {
        close_end(0);
        close_end(1);
    }
    pipe_pair(const pipe_pair&) = delete;
    pipe_pair& operator=(const pipe_pair&) = delete;
    int end(int which) const noexcept { return ends_[which]; }
    void close_end(int which) noexcept {
        if (ends_[which] >= 0) close(ends_[which]);
        ends_[which] = -1;
    }

private:
    int ends_[2];
};

pid_t spawn(const std::string& url, const pipe_pair& start, const pipe_pair& said) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, start.end(0), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, said.end(1), STDOUT_FILENO);
    std::string program = "/proc/self/exe", what = "--migrate", where = url;
    char* arguments[] = {program.data(), what.data(), where.data(), nullptr};
    pid_t child = 0;
    const int failure = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) throw std::runtime_error("the test could not start itself");
    return child;
}

TEST(ten_processes_test, each_migration_is_applied_once_in_total) {
    constexpr int count = 10;
    const place here;
    pipe_pair start, said;
    std::vector<pid_t> children;
    for (int each = 0; each < count; ++each) children.push_back(spawn(here.url(), start, said));
    start.close_end(0);
    start.close_end(1);  // all of them go on now
    said.close_end(1);
    std::string text;
    char buffer[4096];
    for (ssize_t size = 0; (size = read(said.end(0), buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(size));
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    std::size_t applied = 0;
    int answers = 0;
    std::istringstream lines{text};
    for (std::string word; lines >> word;) {
        if (word != "applied") continue;
        std::size_t number = 0;
        lines >> number;
        applied += number;
        ++answers;
    }
    EXPECT_EQ(answers, count) << text;
    EXPECT_EQ(applied, migration_status(here.open()).size()) << text;
    EXPECT_NO_THROW(require_schema(here.open()));
}

}  // namespace
}  // namespace leasehold::testing
