// Runs the SQL of standard input, as an administrator would with the engine's own tool:
//
//   cli_by_hand URL <up.sql
//
// A statement ends with `;` at the end of a line. Exit status: 0, or 1 with what went wrong.
#include <chrono>
#include <exception>
#include <iostream>
#include <string>

#include "leasehold/error.hpp"
#include "leasehold/open.hpp"

int main(int count, char** arguments) {
    if (count != 2) return 2;
    try {
        // An administrator's tool waits, and many rows take their time on a busy machine.
        leasehold::database_settings settings;
        settings.statement_timeout = std::chrono::minutes{1};
        const leasehold::database there = leasehold::open(arguments[1], settings);
        std::string statement;
        for (std::string line; std::getline(std::cin, line);) {
            if (line.starts_with("--")) continue;
            statement += line + "\n";
            if (!line.ends_with(';')) continue;
            there.execute(statement);
            statement.clear();
        }
        if (statement.find_first_not_of(" \n") == std::string::npos) return 0;
        std::cerr << "by_hand: not ended by a semicolon: " << statement;
    } catch (const leasehold::error& refusal) {
        std::cerr << "by_hand: " << refusal.what() << ": " << refusal.server_message() << '\n';
    } catch (const std::exception& failure) {
        std::cerr << "by_hand: " << failure.what() << '\n';
    }
    return 1;
}
