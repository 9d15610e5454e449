#pragma once
// The command to run, looked for before anything is acquired for it.
#include <string>
#include <vector>

namespace leasehold::cli {

struct program {
    std::vector<std::string> arguments;  // the first is what the user called it
    std::string path;                    // what will be executed
    // Otherwise it does not get what the tool was told the password by: LEASEHOLD_URL, MYSQL_PWD,
    // PGPASSWORD.
    bool gets_passwords = false;
    std::vector<std::string> withheld() const;  // the names of these variables, or none
    std::string name() const;                   // without its folders, for people
};

// As a shell finds it. Throws failure: 127 where there is none, 126 where it may not be run.
program find_program(std::vector<std::string> arguments);

}  // namespace leasehold::cli
