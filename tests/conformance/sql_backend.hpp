#pragma once
// The parts of a backend that only differ in a few words of SQL.
#include "conformance/backend.hpp"
#include "support/patient.hpp"

namespace leasehold::testing {

struct sql_words {
    std::string
        micros_ago;  // turns a number of microseconds, placeholder 1, into what is subtracted
    std::string placeholder;        // of parameter 2
    std::string counter_type;       // of the counter's column
    std::string names_with_prefix;  // a query for backend::names_with_prefix, by one parameter
    // The span subtracted from times of jobs on an engine where only those are microseconds.
    std::string job_micros_ago = "MICROS";
};

struct sql_users {
    using opener = std::function<database(database_settings)>;
    opener owner;
    opener program;
    std::string program_name{};  // the user to whom rights are granted; empty: they are the same
};

// Both are opened with settings whose table prefix is already this process's own.
backend make_sql_backend(
    std::string name, const sql_words& words, const sql_users& users, std::string prefix
);

// The names in a database that begin with the prefix.
std::vector<std::string> names_in(
    const database& db, const sql_words& words, const std::string& prefix
);

// Tries it on `db`, and looks at what is left of the prefix in `afterwards`.
forbidden_place::outcome try_there(
    const database& db,
    const forbidden_place::attempt& attempt,
    const database& afterwards,
    const sql_words& words,
    const std::string& prefix
);

// For backend::run_elsewhere on a server, with the statements that make the database and drop it.
void run_in_new_database(
    const database& own,
    const std::string& creates,
    const std::string& drops,
    const std::function<database()>& open,
    const backend::visit& visit
);

// Statements that cannot be in a transaction, each on its own.
void run_alone(const database& db, std::initializer_list<std::string> statements);

}  // namespace leasehold::testing
