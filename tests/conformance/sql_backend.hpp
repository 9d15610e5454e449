#pragma once
// The parts of a backend that only differ in a few words of SQL.
#include "conformance/backend.hpp"

namespace leasehold::testing {

struct sql_words {
    std::string micros_ago;   // turns a number of microseconds, placeholder 1, into what is subtracted
    std::string placeholder;  // of parameter 2
    std::string counter_type; // of the counter's column
};

// `open` gets settings whose table prefix is already this process's own.
backend make_sql_backend(
    std::string name, const sql_words& words, std::function<database(database_settings)> open,
    std::string prefix
);

}  // namespace leasehold::testing
