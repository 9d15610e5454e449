#pragma once
// The command to run. The tool looks for it before it acquires anything.
#include <optional>
#include <string>
#include <vector>

namespace leasehold::cli {

struct program {
    std::vector<std::string> arguments;   // the first is the user's word for it
    std::string path;                     // the file that will be executed
    std::vector<std::string> withheld{};  // variables that it does not get: password_variables()
    std::vector<int> keep_open{};         // descriptors that it gets: inherited_descriptors()
    std::string name() const;             // without its folders, for people
};

// Searches as a shell does. Throws failure: 127 if there is none, 126 if it cannot be run.
program find_program(std::vector<std::string> arguments);

// The interpreter that the first line of the file names, or that `env` is to find, if there is no
// such program.
std::optional<std::string> missing_interpreter(const program& what);

}  // namespace leasehold::cli
