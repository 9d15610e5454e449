#pragma once
// The common parts of all suites: a database of its own per "process", sessions that do not renew
// while a test runs, and keys nobody else uses.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "conformance/backend.hpp"
#include "database/database.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/mutex.hpp"
#include "locks/hold_store.hpp"
#include "sql/store_set.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {

using namespace std::chrono_literals;

class suite : public ::testing::Test {
protected:
    // Hears soon of what happens to it, and does not die of a slow machine.
    static session_settings alert(const char* name) {
        session_settings settings = calm(name);
        settings.heartbeat_every = 200ms;
        return settings;
    }
    // Settings for tests of a ttl that passes, on a machine that may stand still for seconds.
    static session_settings brisk(const char* name) {
        session_settings settings = calm(name);
        settings.ttl = 8s;
        settings.heartbeat_every = 1s;
        return settings;
    }

    static std::string fresh(const char* name) {
        return std::string(name) + "/" + identity::random().text();
    }

    void expire(const session& whose) { current().age_session(whose.id(), 2h); }

    // Waiting calls must be served without any of the hints by which they usually learn of it
    // sooner, and keys granted without those by which small statements go first: every suite also
    // runs without them.
    static bool has_hints() { return std::getenv("LEASEHOLD_TEST_WITHOUT_HINTS") == nullptr; }
    // LEASEHOLD_TEST_WITHOUT_DATAGRAMS: as between machines, and where there are no sockets.
    static bool has_datagrams() {
        return has_hints() && std::getenv("LEASEHOLD_TEST_WITHOUT_DATAGRAMS") == nullptr;
    }
    static database open() {
        database_settings patient;
        patient.statement_timeout = 10s;  // some wait on purpose for what somebody has locked
        database made = current().open(patient);
        if (!has_hints()) {
            made.inner()->waits().suppress_hints();
            made.inner()->use({}, [](connection&, store_set& stores) {
                stores.get<hold_store>().suppress_small_statements();
            });
        }
        if (!has_datagrams()) made.inner()->waits().suppress_datagrams();
        suppose(made);
        combine(made);
        return made;
    }

    // Supposes never or always that a key is waited for, by LEASEHOLD_TEST_SOUGHT=never|always:
    // each way has every property.
    static void suppose(const database& made) {
        const char* const given = std::getenv("LEASEHOLD_TEST_SOUGHT");
        if (!given) return;
        const bool is_always = std::string(given) == "always";
        made.inner()->waits().contended().suppose(
            is_always ? contended_keys::guess::always : contended_keys::guess::never
        );
    }

    // LEASEHOLD_TEST_COMBINED=never|always: one request alone goes as several do, or none does.
    static void combine(const database& made) {
        const char* const given = std::getenv("LEASEHOLD_TEST_COMBINED");
        if (!given) return;
        const bool is_always = std::string(given) == "always";
        const auto every = is_always ? combiner::way::always : combiner::way::never;
        made.inner()->acquires().suppose(every);
        made.inner()->releases().suppose(every);
    }

    database first_ = open();
    database second_ = open();
};

// The token, or 0 where the try was refused.
inline std::int64_t token_of(acquisition& got) {
    return got ? got->token().number : 0;
}

// The error that an operation threw, or nothing.
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
