#pragma once
// A mapping held against a table as the catalogue has it. No I/O.
//
// Threads: plain functions.
#include <optional>
#include <string>
#include <vector>

#include "leasehold/claim_mapping.hpp"
#include "store/claim_store.hpp"

namespace leasehold {

// A column the mapping names.
struct column_need {
    std::string name;
    std::string role;                   // "version", for people
    std::vector<column_kind> may_be{};  // empty: anything
    // How to add it where it is missing; nothing: nobody but its owner can know.
    std::optional<column_kind> made_as{};
    std::optional<value> not_null_default{};
    bool null_is_trouble = false;  // a null makes the row one that is never claimed
};

struct table_need {
    qualified_name table;
    std::vector<column_need> columns;
    std::vector<std::string> key;
    std::vector<std::string> equal;  // columns a claim of several compares with one value
    std::vector<order_by> order;
    std::string without_index;  // what it costs that no index serves `equal` and `order`
};

struct mapping_verdict {
    std::string problem;  // one line with what to do; empty: the mapping fits
    std::vector<std::string> warnings;
    std::string index;  // that serves a claim of several; empty: none
};

mapping_verdict judge(const table_need& need, const table_shape& found, const claim_store& dialect);

// What every mapping must be by itself. Throws invalid_argument.
void require_name(const std::string& name, const char* role);
void require_table(const qualified_name& table, const std::vector<std::string>& key);
void require_conditions(const std::vector<condition>& conditions);

// The kinds a column of times may be, by what the mapping says of it.
std::vector<column_kind> kinds_of(time_kind times, engine which);

// The kind of column a value would need if it were made for it.
column_kind kind_of(const value& each);

// Whether a typed engine can compare and store this in a column of that kind.
bool fits(const value& given, column_kind into);

}  // namespace leasehold
