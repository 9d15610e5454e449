#pragma once
// What the suites of waiting calls share: who looks how often, and who waits.
#include "conformance/suite.hpp"

namespace leasehold::testing {

class queue_suite : public suite {
protected:
    // Looks so rarely that a test never sees one: only hints, and answers to own requests, count.
    // Where the suite runs without hints, looks are what is tested.
    static mutex_settings deaf() {
        if (!has_hints()) return keen();
        mutex_settings settings;
        settings.poll_min = settings.poll_max = 1h;
        return settings;
    }
    // What a test that needs a look can wait for.
    static mutex_settings keen() {
        mutex_settings settings;
        settings.poll_min = 1ms;
        settings.poll_max = 20ms;
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
