// The adapter for spdlog: its level, its text, and no exception.
#include "leasehold/spdlog_observer.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>

namespace leasehold::testing {
namespace {

struct throwing_sink final : spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg&) override { throw std::runtime_error("full"); }
    void flush_() override {}
};

class spdlog_observer_test : public ::testing::Test {
protected:
    std::string take() {
        std::string said = out_.str();
        out_.str("");
        return said;
    }

    std::ostringstream out_;
    const std::shared_ptr<spdlog::logger> log_ = [&] {
        auto made = std::make_shared<spdlog::logger>(
            "locks", std::make_shared<spdlog::sinks::ostream_sink_mt>(out_)
        );
        made->set_pattern("%n %l %v");
        return made;
    }();
    spdlog_observer observer_{log_};
};

TEST_F(spdlog_observer_test, logs_each_event_at_its_level) {
    log_->set_level(spdlog::level::debug);
    observer_.on_event({event_kind::granted, "k", 5, "", event_reason::tried});
    EXPECT_EQ(take(), "locks debug granted 'k', token 5, tried\n");
    observer_.on_event({event_kind::reconnected});
    EXPECT_EQ(take(), "locks info reconnected\n");
    observer_.on_event({event_kind::warning, "", 0, "braces {} are text"});
    EXPECT_EQ(take(), "locks warning warning: braces {} are text\n");
    observer_.on_event({event_kind::lost, "k", 5, "expired", event_reason::expired});
    EXPECT_EQ(take(), "locks error lost 'k', token 5: expired\n");
}

TEST_F(spdlog_observer_test, leaves_out_what_the_logger_does_not_log) {
    log_->set_level(spdlog::level::warn);
    observer_.on_event({event_kind::granted, "k", 5});
    EXPECT_EQ(take(), "");
}

TEST_F(spdlog_observer_test, a_sink_that_throws_is_no_affair_of_the_library) {
    auto broken = std::make_shared<spdlog::logger>("broken", std::make_shared<throwing_sink>());
    int complaints = 0;
    broken->set_error_handler([&](const std::string&) {
        ++complaints;
        throw std::runtime_error("and again");
    });
    spdlog_observer observer{broken};
    observer.on_event({event_kind::warning, "", 0, "beware"});
    EXPECT_EQ(complaints, 1);
}

}  // namespace
}  // namespace leasehold::testing
