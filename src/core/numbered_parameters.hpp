#pragma once
// Finds the places for values in a statement's text: `$1`, `$2` … which every engine's connection
// takes, and `?`, which all but PostgreSQL's take.
//
//   for (const place& each : places_in("a = $2 AND b = $1", engine::mysql)) …  // numbers 2, 1
//
// Strings, names in quotes, comments, dollar quotes and names that have a dollar in them are the
// statement's own and hold no places. A cast stays where it is: `$1::text` has the place `$1`.
//
// Threads: pure functions.
#include <cstddef>
#include <string_view>
#include <vector>

#include "leasehold/engine.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

struct place {
    std::size_t at = 0;      // where it begins, in bytes
    std::size_t size = 0;    // the size of its text, in bytes
    std::size_t number = 0;  // the value that belongs there, from 1; `?` are counted
    bool operator==(const place&) const = default;
};

// The places in the order of the text; a number may occur several times, or be missing. Throws
// invalid_argument if `?` and `$1` are mixed, and for a number that is not 1 to 65535.
LEASEHOLD_EXPORT std::vector<place> places_in(std::string_view sql, engine which);

// The number of values that a statement with these places wants: its highest number.
LEASEHOLD_EXPORT std::size_t values_wanted(const std::vector<place>& places) noexcept;

// The end of the string, name in quotes or comment that begins at `at`, as this engine reads it;
// `at` if none begins there. One that is not closed reaches to the end.
LEASEHOLD_EXPORT std::size_t end_of_quoted(std::string_view sql, std::size_t at, engine which);

// The end of the word, name or number that begins at `at`; `at` if none begins there. It may have
// dollars in it, which begin no string.
LEASEHOLD_EXPORT std::size_t end_of_word(std::string_view sql, std::size_t at) noexcept;

}  // namespace leasehold
