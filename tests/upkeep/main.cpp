// Runs the tests; or is one of the ten processes of ten_processes_test.cpp.
#include <gtest/gtest.h>

#include <string_view>

#include "support/required.hpp"
#include "upkeep/ten_processes.hpp"

int main(int count, char** arguments) {
    if (count == 3 && std::string_view(arguments[1]) == "--migrate") {
        return leasehold::testing::migrate_as_child(arguments[2]);
    }
    ::testing::InitGoogleTest(&count, arguments);
    leasehold::testing::seed();
    return RUN_ALL_TESTS();
}
