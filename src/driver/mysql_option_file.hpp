#pragma once
// Private to the MySQL driver: the option files of MySQL's own clients, as "Using Option Files" of
// its manual describes them.
//
//   [client]
//   user     = app
//   password = "a # belongs to it in quotes alone"
#include <string>
#include <utility>
#include <vector>

namespace leasehold::mysql {

// The options of the groups [client] and [leasehold], in the file's order, so that a later line
// wins: names with - for _; an empty text for a name without a value. Throws invalid_argument if
// the file cannot be read, may be written by everybody (MySQL's clients ignore such a file), or
// includes other files, which is not supported. The error shows no value of the file.
std::vector<std::pair<std::string, std::string>> read_option_file(const std::string& path);

}  // namespace leasehold::mysql
