#pragma once

namespace leasehold::cli {

// The commit that the tool was built from, in short: "60e9cf5e". Empty if the build did not know.
// In a source of its own, so that a new commit compiles nothing else.
const char* commit() noexcept;

}  // namespace leasehold::cli
