#pragma once
// A word of a command line, as a shell takes it.
#include <string>
#include <string_view>

namespace leasehold {

// In single quotes, whatever is in it.
std::string shell_word(std::string_view word);

}  // namespace leasehold
