#pragma once
// The common parts of the tests of sessions and locks on the model: the model, a way to break its
// connections, the events of the observer, and sessions that live long or short.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/session.hpp"
#include "locks/hold_store.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"
#include "support/faulty_connection.hpp"
#include "support/memory_store.hpp"
#include "support/test_time.hpp"

namespace leasehold::testing {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

class event_log final : public observer {
public:
    void on_event(const event& what) noexcept override {
        const std::lock_guard guard{mutex_};
        kinds_.push_back(what.kind);
    }
    int count(event_kind kind) const {
        const std::lock_guard guard{mutex_};
        return static_cast<int>(std::count(kinds_.begin(), kinds_.end(), kind));
    }

private:
    mutable std::mutex mutex_;
    std::vector<event_kind> kinds_;
};

class model_test : public ::testing::Test {
protected:
    // Told 1.6 s after its last heartbeat; 1.4 s are left for a test machine that is late.
    static session_settings brief(const char* name = "brief") {
        session_settings settings = calm(name);
        settings.ttl = 3s;
        settings.margin = 1400ms;
        settings.heartbeat_every = 300ms;
        return settings;
    }
    // Asks often and lives long.
    static session_settings eager(const char* name = "eager") {
        session_settings settings = calm(name);
        settings.ttl = 60s;
        settings.heartbeat_every = 20ms;
        return settings;
    }

    // Through the plan, as a process with a bad network; and without, as all others.
    database faulty() {
        database_settings settings;
        settings.observer = events_;
        settings.pool_timeout = 300ms;
        settings.statement_timeout = 300ms;
        return model_.open(settings, plan_->wrapper());
    }
    // The same, but for the time-outs, which are longer than any test.
    database patient() {
        database_settings settings;
        settings.observer = events_;
        settings.pool_timeout = 60s;
        settings.statement_timeout = 60s;
        return model_.open(settings, plan_->wrapper());
    }
    database sound() { return model_.open(); }

    std::optional<lock_row> row(const key& name) {
        return model_.server().with_tables([&](memory_tables& tables) {
            const auto found = tables.locks.find(name.name());
            return found == tables.locks.end() ? std::nullopt : std::optional{found->second};
        });
    }
    std::optional<session_row> row(const session_id& id) {
        return model_.server().with_tables([&](memory_tables& tables) {
            const auto found = tables.sessions.find(id);
            return found == tables.sessions.end() ? std::nullopt : std::optional{found->second};
        });
    }
    // The time for which the model would still refuse the key to others, asked past every plan.
    std::chrono::microseconds remaining(const key& name) {
        const auto on = model_.connect();
        const auto found = model_.stores()->get<hold_store>().describe(*on, name, true);
        return found && found->info.is_held ? found->info.remaining : 0us;
    }

    const test_time time_;
    memory_database model_;
    std::shared_ptr<fault_plan> plan_ = std::make_shared<fault_plan>();
    std::shared_ptr<event_log> events_ = std::make_shared<event_log>();
    const key name_{"k"};
};

// The error that an operation threw, or nothing.
inline std::optional<error> thrown_by(const std::function<void()>& run) {
    try {
        run();
    } catch (const error& failure) {
        return failure;
    }
    return std::nullopt;
}

}  // namespace leasehold::testing
