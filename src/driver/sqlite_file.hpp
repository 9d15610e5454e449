#pragma once
// Private to the SQLite driver: the file that a URL names.
#include <string>
#include <string_view>

namespace leasehold::sqlite {

// Of sqlite:PATH, sqlite:///PATH. Throws invalid_argument.
std::string path_of(std::string_view url);

// What a person would check first, said before SQLite says "unable to open database file": throws
// what is in the way of opening it, or of making it.
void require_file(const std::string& path, bool may_create);

std::string folder_of(const std::string& path);

}  // namespace leasehold::sqlite
