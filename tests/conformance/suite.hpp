#pragma once
// What every suite shares: a database of its own per "process", sessions that do not renew while a
// test runs, and keys nobody else uses.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "conformance/backend.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {

using namespace std::chrono_literals;

class suite : public ::testing::Test {
protected:
    // Heartbeats every 20 minutes: a test sees none unless it asks for another life.
    static session_settings calm(const char* name) {
        session_settings settings;
        settings.name = name;
        settings.ttl = 1h;
        settings.reap_every = 0ms;
        return settings;
    }
    static session_settings brisk(const char* name) {
        session_settings settings = calm(name);
        settings.ttl = 1000ms;
        return settings;
    }

    static std::string fresh(const char* name) {
        return std::string(name) + "/" + identity::random().text();
    }

    void expire(const session& whose) { current().age_session(whose.id(), 2h); }

    database first_ = current().open({});
    database second_ = current().open({});
};

// The token, or 0 where the try was refused.
inline std::int64_t token_of(acquisition& got) {
    return got ? got->token().number : 0;
}

// What an operation threw, or nothing.
template <class Run>
std::optional<error> thrown_by(Run&& run) {
    try {
        run();
    } catch (const error& failure) {
        return failure;
    }
    return std::nullopt;
}

}  // namespace leasehold::testing
