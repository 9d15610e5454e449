// In every test program: says on standard error which test is running when the program dies, and
// once a minute when one takes longer. With GTEST_BRIEF=1, which keeps a log to its failures,
// nothing else would.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace leasehold::testing {
namespace {

// The name of the running test, for the handler of a signal: a copy that needs no lock.
std::array<char, 256> running{};

void write_all(const char* text) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

// The process ends when it returns.
void on_abort(int) {
    write_all("aborted while running ");
    write_all(running.data());
    write_all("\n");
}

class watch final : public ::testing::EmptyTestEventListener {
    void OnTestProgramStart(const ::testing::UnitTest&) override { std::signal(SIGABRT, on_abort); }
    void OnTestStart(const ::testing::TestInfo& test) override {
        note("", test);
        observer_ = std::jthread{[this](const std::stop_token& ended) {
            std::unique_lock lock{mutex_};
            constexpr std::chrono::minutes timeout{1};
            while (true) {
                over_.wait_for(lock, ended, timeout, [] { return false; });
                if (ended.stop_requested()) return;
                write_all(("still running " + std::string{running.data()} + "\n").c_str());
            }
        }};
    }
    void OnTestEnd(const ::testing::TestInfo& test) override {
        observer_ = {};
        note("what comes after ", test);
    }

    static void note(const std::string& where, const ::testing::TestInfo& test) {
        const std::string text = where + test.test_suite_name() + "." + test.name();
        running = {};
        text.copy(running.data(), running.size() - 1);
    }

    std::mutex mutex_;
    std::condition_variable_any over_;
    std::jthread observer_;
};

[[maybe_unused]] const bool is_watched = [] {
    ::testing::UnitTest::GetInstance()->listeners().Append(new watch);  // GoogleTest owns it
    return true;
}();

}  // namespace
}  // namespace leasehold::testing
