#pragma once
// Private to the SQLite driver: the file that a URL names.
#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::sqlite {

// The path in sqlite:PATH, sqlite:///PATH. Throws invalid_argument.
std::string path_of(std::string_view url);

// Makes the checks that a person would make first, before SQLite says "unable to open database
// file": throws the reason why the file cannot be opened, or made.
void require_file(const std::string& path, bool may_create);

std::string folder_of(const std::string& path);

// The size of the write-ahead log beside the database; 0 if there is none.
std::int64_t size_of_log(const std::string& path);

}  // namespace leasehold::sqlite
