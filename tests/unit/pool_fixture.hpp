#pragma once
// A pool on connections that do nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "database/pool.hpp"
#include "leasehold/error.hpp"
#include "support/test_time.hpp"
#include "unit/idle_connection.hpp"

namespace leasehold::testing {

using namespace std::chrono_literals;

class pool_test : public ::testing::Test {
protected:
    static database_settings settings(int max_connections, milliseconds pool_timeout) {
        database_settings made;
        made.max_connections = max_connections;
        made.pool_timeout = pool_timeout;
        return made;
    }
    // Fails while `broken_`, after counting the attempt.
    connector connect() {
        return [this](milliseconds timeout) {
            ++attempts_;
            asked_timeout_ = timeout.count();
            if (broken_) {
                error_facts facts;
                facts.is_passing = is_passing_;
                throw error(errc::connection_failed, "refused", facts);
            }
            return std::make_unique<idle_connection>(record_);
        };
    }

    std::optional<test_time> time_{std::in_place};
    record record_;
    std::atomic<int> attempts_ = 0;
    std::atomic<bool> broken_ = false;
    std::atomic<bool> is_passing_ = true;
    std::atomic<milliseconds::rep> asked_timeout_ = 0;
};

inline errc code_of_take(pool& from, const bounds& of_call = {}) {
    try {
        from.take(of_call);
    } catch (const error& failure) {
        return failure.code();
    }
    return errc{};
}

}  // namespace leasehold::testing
