#pragma once
// The place of the test servers, and whether doing without is a failure.
#include <string>

namespace leasehold::testing {

// The URL of LEASEHOLD_TEST_<NAME>_URL. Where it is not set the process ends: with a failure if
// `name` is in the list LEASEHOLD_REQUIRED_BACKENDS, otherwise with the status CTest counts as
// skipped (77).
std::string require_url(const std::string& name);

// As require_url(), of LEASEHOLD_TEST_<NAME>_PROGRAM_URL. That URL is of a user who has the granted
// rights alone.
std::string require_program_url(const std::string& name);

// Random, printed once with how to set it again: LEASEHOLD_TEST_SEED.
unsigned long seed();

// A prefix for this process's own tables: "t" and eight random digits, "_".
std::string fresh_prefix();

}  // namespace leasehold::testing
