#pragma once
// Private to the SQLite driver: the file that a URL names.
#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::sqlite {

// Of sqlite:PATH, sqlite:///PATH. Throws invalid_argument.
std::string path_of(std::string_view url);

// What a person would check first, said before SQLite says "unable to open database file": throws
// what is in the way of opening it, or of making it.
void require_file(const std::string& path, bool may_create);

std::string folder_of(const std::string& path);

// Of the write-ahead log beside the database; 0 where there is none.
std::int64_t size_of_log(const std::string& path);

}  // namespace leasehold::sqlite
