#pragma once

namespace leasehold::cli {

// The commit of the tool's sources, in short: "60e9cf5e4a11"; empty if the build did not know. The
// function has a source of its own, so that a new commit compiles nothing else.
const char* commit() noexcept;

}  // namespace leasehold::cli
