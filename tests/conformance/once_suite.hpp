#pragma once
// The common parts of the suites of run-once tasks and of their list.
#include <vector>

#include "conformance/suite.hpp"
#include "leasehold/once.hpp"

namespace leasehold::testing {

class once_suite : public suite {
protected:
    static once_settings without_waiting() {
        once_settings settings;
        settings.max_early = 0ms;
        return settings;
    }
    static run_info only(const std::vector<run_info>& runs) {
        EXPECT_EQ(runs.size(), 1U);
        return runs.at(0);
    }
};

}  // namespace leasehold::testing
