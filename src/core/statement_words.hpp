#pragma once
// Reads a text of SQL as far as its statements and their first words. Strings, names in quotes and
// comments hold neither; text that MySQL and MariaDB run out of a comment, as in /*! COMMIT */,
// counts.
//
//   statement_words("/* a */ Start Transaction", engine::mysql, 2)  // {"START", "TRANSACTION"}
//   statements_in("a; b;", engine::postgres)                         // {"a", " b"}
//
// Threads: pure functions.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/engine.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// The words of a statement in upper case; at most `limit` of them.
LEASEHOLD_EXPORT std::vector<std::string> statement_words(
    std::string_view sql, engine which, std::size_t limit
);

// Splits at `;`. A part with nothing but comments is dropped, because MySQL answers it with an
// error. Bodies of routines are not understood.
LEASEHOLD_EXPORT std::vector<std::string_view> statements_in(std::string_view script, engine which);

// Throws the error of an execute() that was given several statements.
[[noreturn]] LEASEHOLD_EXPORT void refuse_second_statement();

}  // namespace leasehold
