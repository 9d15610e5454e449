#pragma once
// Keeps what an observer was told, for tests that ask what came.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/observer.hpp"

namespace leasehold::testing {

struct told_event {
    event_kind kind{};
    std::string key;
    std::int64_t number = 0;
    std::string detail;
    event_reason reason{};
    std::optional<std::chrono::nanoseconds> took;
    std::string queue{};
    std::string job_kind{};
    int attempt = 0;
    std::optional<std::chrono::nanoseconds> waited;
};

class told_events final : public observer {
public:
    void on_event(const leasehold::event& what) noexcept override {
        const std::lock_guard guard{mutex_};
        all_.push_back(
            {what.kind,
             std::string{what.key},
             what.number,
             std::string{what.detail},
             what.reason,
             what.took,
             std::string{what.queue},
             std::string{what.job_kind},
             what.attempt,
             what.waited}
        );
    }

    void forget() {
        const std::lock_guard guard{mutex_};
        all_.clear();
    }
    std::vector<told_event> all() const {
        const std::lock_guard guard{mutex_};
        return all_;
    }
    std::vector<told_event> of(event_kind kind, const std::string& key) const {
        std::vector<told_event> found = all();
        std::erase_if(found, [&](const told_event& each) {
            return each.kind != kind || each.key != key;
        });
        return found;
    }
    // The only one of this kind about this key; nothing where there is none, or several.
    std::optional<told_event> only(event_kind kind, const std::string& key) const {
        auto found = of(kind, key);
        return found.size() == 1 ? std::optional{std::move(found.front())} : std::nullopt;
    }
    std::int64_t count(event_kind kind) const {
        const std::vector<told_event> now = all();
        return std::ranges::count(now, kind, &told_event::kind);
    }

private:
    mutable std::mutex mutex_;
    std::vector<told_event> all_;
};

}  // namespace leasehold::testing
