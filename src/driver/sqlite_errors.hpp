#pragma once
// Private to the SQLite driver: errors of SQLite, as leasehold::error.
#include <string>

#include "leasehold/error.hpp"

namespace leasehold::sqlite {

struct failure {
    int code = 0;          // extended
    int system_error = 0;  // errno of the failed call, if that was on a file
    std::string words;
};

// A statement that was refused, or a file that could not be opened.
error error_of(const std::string& path, const failure& what);

}  // namespace leasehold::sqlite
