#pragma once
// The page of results, made of the JSON lines of all backends.
#include <string>

namespace leasehold::bench {

struct page {
    std::string lines;   // the file with the JSON lines
    std::string folder;  // where the plots go, <backend>.svg
    std::string about;   // machine, date and commit, in a sentence
};

// Prints the page, which refers to the plots by the folder's name.
void print_table(const page& what);

// The same of the lines that tests/cost/growth.cpp prints: the time of each operation by the size
// of the database; <folder>/growth-<engine>.svg.
void print_growth(const page& what);

}  // namespace leasehold::bench
