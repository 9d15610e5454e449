#pragma once
// The command to run, looked for before anything is acquired for it.
#include <optional>
#include <string>
#include <vector>

namespace leasehold::cli {

struct program {
    std::vector<std::string> arguments;   // the first is what the user called it
    std::string path;                     // what will be executed
    std::vector<std::string> withheld{};  // variables that it does not get: password_variables()
    std::string name() const;             // without its folders, for people
};

// As a shell finds it. Throws failure: 127 where there is none, 126 where it may not be run.
program find_program(std::vector<std::string> arguments);

// The interpreter that its first line names, `env` aside, where there is no such program.
std::optional<std::string> missing_interpreter(const program& what);

}  // namespace leasehold::cli
