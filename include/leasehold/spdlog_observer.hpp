#pragma once
// Logs the events of an observer with spdlog. Your program compiles it, against its own spdlog; the
// library itself knows nothing of it, and leasehold.hpp does not include this.
//
//   settings.observer = std::make_shared<leasehold::spdlog_observer>(spdlog::default_logger());
//
// The level is level_of(event), see the table in observer.hpp, the text text_of(event). An event
// that the logger does not log is not formatted as text.
//
// Promises: no exception. Does not promise: that a sink does not block; take an asynchronous logger
// (spdlog::create_async_nb) if it may.
//
// Threads: as the logger's sinks; those whose names end in _mt are safe.
#include "leasehold/export.hpp"
// The header above comes first: it says which standard is needed.
#include <spdlog/logger.h>

#include <memory>
#include <string_view>
#include <utility>

#include "leasehold/observer.hpp"

namespace leasehold {

class spdlog_observer final : public observer {
public:
    explicit spdlog_observer(std::shared_ptr<spdlog::logger> to) : to_(std::move(to)) {}

    void on_event(const event& what) noexcept override {
        try {
            const auto level = level_for(what);
            if (to_->should_log(level)) to_->log(level, std::string_view{text_of(what)});
        } catch (...) {
            // The logger deals with a sink that throws.
        }
    }

private:
    static spdlog::level::level_enum level_for(const event& what) noexcept {
        switch (level_of(what)) {
            case event_level::debug:
                return spdlog::level::debug;
            case event_level::info:
                return spdlog::level::info;
            case event_level::warning:
                return spdlog::level::warn;
            case event_level::error:
                break;
        }
        return spdlog::level::err;
    }

    std::shared_ptr<spdlog::logger> to_;
};

}  // namespace leasehold
