#pragma once
// Raises an error again with another message.
#include <string>
#include <string_view>

#include "leasehold/error.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// The facts of `cause`, under this message. `outcome_unknown`: as `cause` has it, or more.
LEASEHOLD_EXPORT error
reworded(const error& cause, const std::string& message, bool outcome_unknown);

// The words of the exception that is being handled, of whatever type: at most 4 KiB of them.
LEASEHOLD_EXPORT std::string words_of_thrown();

// The end of the message about a right that is missing: the server's own message, which names the
// table, and who can help. Leaves the server's message out if it might contain user data.
LEASEHOLD_EXPORT std::string about_a_missing_right(std::string_view server_words);

}  // namespace leasehold
