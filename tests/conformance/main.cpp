// Runs the suite on the backend this executable was linked with; drops its tables at the end.
#include <gtest/gtest.h>

#include "conformance/backend.hpp"
#include "support/required.hpp"

namespace leasehold::testing {

backend& current() {
    static backend made = make_backend();
    return made;
}

}  // namespace leasehold::testing

namespace {

class tables : public ::testing::Environment {
public:
    void SetUp() override { leasehold::testing::current().make_tables(); }
    void TearDown() override { leasehold::testing::current().destroy(); }
};

}  // namespace

int main(int count, char** arguments) {
    ::testing::InitGoogleTest(&count, arguments);
    leasehold::testing::seed();
    ::testing::AddGlobalTestEnvironment(new tables);  // owned by GoogleTest
    return RUN_ALL_TESTS();
}
