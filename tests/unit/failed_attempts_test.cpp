// Without an observer, failed attempts go to standard error: few lines, and never waited for.
#include "jobs/failed_attempts.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"
#include "support/calm.hpp"
#include "support/memory_store.hpp"
#include "support/test_time.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// Has room for so many bytes.
class narrow_sink final : public line_sink {
public:
    explicit narrow_sink(std::string& into, std::size_t& room) : into_(into), room_(room) {}
    std::size_t write(std::string_view lines) override {
        const auto taken = std::min(lines.size(), room_);
        into_ += lines.substr(0, taken);
        room_ -= taken;
        return taken;
    }
    bool keeps() const noexcept override { return true; }

private:
    std::string& into_;
    std::size_t& room_;
};

class failed_attempts_test : public ::testing::Test {
protected:
    void tell(
        std::string_view kind,
        event_reason how = event_reason::retried,
        event_kind what = event_kind::job_ended
    ) {
        event made{what};
        made.number = 12;
        made.reason = how;
        made.detail = "no paper";
        made.queue = "mail";
        made.job_kind = kind;
        made.attempt = 2;
        log_.on_event(made);
    }
    std::string take() { return std::exchange(said_, {}); }

    const test_time time_;
    std::string said_;
    std::size_t room_ = 1'000'000;
    failed_attempts log_{std::make_unique<narrow_sink>(said_, room_)};
};

std::string line_of(const std::string& kind, const std::string& how, const std::string& end = "") {
    return "leasehold: job_ended in queue 'mail', job 12 of kind '" + kind + "', attempt 2, " +
           how + ": no paper" + end + "\n";
}

TEST_F(failed_attempts_test, a_kind_has_one_line_in_a_second_with_the_number_of_those_left_out) {
    tell("a");
    tell("b", event_reason::discarded);
    EXPECT_EQ(take(), line_of("a", "retried") + line_of("b", "discarded"));
    for (int each = 0; each < 3; ++each) tell("a");
    EXPECT_EQ(take(), "");
    test_time::advance(1s);
    tell("a", event_reason::lost);
    EXPECT_EQ(take(), line_of("a", "lost", " (left out before: 3)"));
    test_time::advance(1s);
    tell("a");
    EXPECT_EQ(take(), line_of("a", "retried"));
}

TEST_F(failed_attempts_test, what_does_not_fail_is_not_written) {
    for (const auto how :
         {event_reason::completed,
          event_reason::snoozed,
          event_reason::released,
          event_reason::cancelled}) {
        tell("a", how);
    }
    tell("a", event_reason::none, event_kind::job_started);
    tell("a", event_reason::none, event_kind::warning);
    EXPECT_EQ(take(), "");
    tell("a", event_reason::none, event_kind::job_timed_out);
    EXPECT_NE(take().find("job_timed_out in queue 'mail', job 12"), std::string::npos);
}

TEST_F(failed_attempts_test, those_left_out_are_told_of_when_no_other_comes) {
    for (int each = 0; each < 3; ++each) tell("a");
    take();
    log_.flush(false);
    EXPECT_EQ(take(), "");
    test_time::advance(1s);
    log_.flush(false);
    EXPECT_EQ(take(), "leasehold: lines left out for kind 'a': 2\n");
    log_.flush(true);
    EXPECT_EQ(take(), "");
    tell("a");
    log_.flush(true);
    EXPECT_EQ(take(), "leasehold: lines left out for kind 'a': 1\n");
}

TEST_F(failed_attempts_test, a_reader_that_stalls_costs_lines_and_not_their_order) {
    room_ = 20;
    tell("a");
    tell("b");
    tell("c");
    EXPECT_EQ(take(), line_of("a", "retried").substr(0, 20));
    room_ = 1'000'000;
    test_time::advance(1s);
    tell("b");
    EXPECT_EQ(
        take(),
        line_of("a", "retried").substr(20) + line_of("b", "retried", " (left out before: 1)")
    );
    log_.flush(true);
    EXPECT_EQ(take(), "leasehold: lines left out for kind 'c': 1\n");
}

TEST_F(failed_attempts_test, a_line_that_was_cut_is_ended_when_no_other_comes) {
    room_ = 20;
    tell("a");
    take();
    log_.flush(true);
    EXPECT_EQ(take(), "") << "there is no room";
    room_ = 1'000'000;
    log_.flush(false);
    EXPECT_EQ(take(), line_of("a", "retried").substr(20));
}

TEST_F(failed_attempts_test, very_many_kinds_share_a_line) {
    for (std::size_t each = 0; each < failed_attempts::max_kinds + 50; ++each) {
        tell("kind" + std::to_string(each));
    }
    const std::string said = take();
    const auto lines = static_cast<std::size_t>(std::ranges::count(said, '\n'));
    EXPECT_EQ(lines, failed_attempts::max_kinds + 1);
    log_.flush(true);
    EXPECT_EQ(take(), "leasehold: lines left out for kind 'other': 49\n");
}

// Runs jobs that fail; returns what standard error has.
std::string errors_of(const database& db) {
    const job_queue queue{db, "mail"};
    queue.enqueue_many({{.kind = "a", .retry = {.max_attempts = 1}}, {.kind = "b"}});
    session mine{db, calm("worker")};
    worker does{mine, {.queues = {"mail"}, .stop_when_idle = true}};
    does.handle("a", [](job&) { throw std::runtime_error("no paper"); });
    does.handle("b", [](job&) {});
    ::testing::internal::CaptureStderr();
    const auto report = does.run();
    std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(report.failed, 1);
    return said;
}

TEST(failed_attempts, a_worker_writes_them_where_no_observer_is_set) {
    const memory_database model;
    const std::string said = errors_of(model.open({}));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    EXPECT_TRUE(said.starts_with("leasehold: job_ended in queue 'mail', job ")) << said;
    EXPECT_TRUE(said.ends_with(": no paper\n")) << said;
    database_settings observed;
    observed.observer = std::make_shared<observers>(std::vector<observers::pointer>{});
    EXPECT_EQ(errors_of(model.open(observed)), "");
}

// A daemon may have closed standard error, and the next connection has its number.
TEST(failed_attempts, a_descriptor_that_is_closed_on_exec_is_not_standard_error) {
    ::testing::internal::CaptureStderr();
    const auto to = to_standard_error();
    EXPECT_EQ(to->write("to people\n"), 10U);
    ASSERT_EQ(fcntl(STDERR_FILENO, F_SETFD, FD_CLOEXEC), 0);
    EXPECT_EQ(to->write("to a server\n"), 0U);
    ASSERT_EQ(fcntl(STDERR_FILENO, F_SETFD, 0), 0);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "to people\n");
}

}  // namespace
}  // namespace leasehold::testing
