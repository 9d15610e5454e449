#pragma once
// A word of a command line, in the form that a shell takes.
#include <string>
#include <string_view>

namespace leasehold {

// The word in single quotes, whatever is in it.
std::string shell_word(std::string_view word);

}  // namespace leasehold
