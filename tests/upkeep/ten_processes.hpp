#pragma once
// Processes that migrate, for the test of many starting at once.
#include <string>

namespace leasehold::testing {

// The work of a child: waits until its standard input ends, migrates, and says on standard output
// how many migrations it applied. Answers with its exit status.
int migrate_as_child(const std::string& url);

}  // namespace leasehold::testing
