#pragma once
// The common parts of the suites of waiting calls: settings that look rarely or often.
#include "conformance/suite.hpp"

namespace leasehold::testing {

class queue_suite : public suite {
protected:
    // Looks so rarely that a test never sees one: only hints, and answers to own requests, count.
    // Without hints the suite tests the looks.
    static mutex_settings deaf() {
        if (!has_hints()) return keen();
        mutex_settings settings;
        settings.min_poll = settings.max_poll = 1h;
        return settings;
    }
    // Looks so often that a test can wait for a look.
    static mutex_settings keen() {
        mutex_settings settings;
        settings.min_poll = 1ms;
        settings.max_poll = 20ms;
        return settings;
    }

    std::int64_t waiters_of(const key& name) const {
        const auto found = describe(first_, name);
        return found ? found->waiters : 0;
    }
    bool has_waiters(const key& name, std::int64_t number) const {
        return eventually([&] { return waiters_of(name) == number; });
    }
};

}  // namespace leasehold::testing
