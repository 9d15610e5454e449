#pragma once
// Private to the SQLite driver: the words of its errors.
#include <string>

#include "leasehold/error.hpp"

namespace leasehold::sqlite {

// What failed, where, and what to do about it.
std::string explain(int code, const std::string& path, errc meaning);

}  // namespace leasehold::sqlite
