#pragma once
// Checks a mapping against a table as the catalogue has it. No I/O.
//
// Threads: plain functions.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "claims/table_store.hpp"
#include "leasehold/claim_mapping.hpp"

namespace leasehold {

// A column the mapping names.
struct column_need {
    std::string name;
    std::string role;                   // "version", for people
    std::vector<column_kind> may_be{};  // empty: anything
    // The kind to add it with if it is missing; nullopt: only its owner can know.
    std::optional<column_kind> made_as{};
    std::optional<value> not_null_default{};
    bool null_is_trouble = false;  // a null makes the row one that is never claimed
    bool is_changed = false;       // by a claim, and by nothing but the claim
    bool is_emptied = false;       // becomes null when a claim ends
    bool is_read = true;
    bool needs_order = false;  // it is compared or ordered by
    bool counts_up = false;
    std::optional<std::chrono::microseconds> term{};  // it must be able to tell this from zero
    std::vector<value> compared{};
    std::vector<value> stored{};
    // The values that decide, compared for equality, who gets a row: those that differ here must
    // differ to the column too.
    std::vector<value> told_apart{};
};

struct table_need {
    qualified_name table;
    std::vector<column_need> columns;
    std::vector<std::string> key;
    std::vector<std::string> equal;  // columns a claim of several compares with one value
    std::vector<order_by> order;
    std::vector<std::string> late;  // the columns that find rows past their term, in this order
    bool keeps_finished = false;    // finished rows look like claimed ones except for the term
    std::string without_index;      // the cost when no index serves `equal` and `order`
    bool has_no_claimant = false;   // nothing tells the claim of one from that of another
    bool only_locks = false;        // the claim does not say what becomes of the rows
    bool one_node_is_written_to = false;  // of a cluster
};

struct mapping_verdict {
    std::string problem;  // one line with what to do; empty: the mapping fits
    std::vector<std::string> warnings;
    std::string index;       // the one that serves a claim of several; empty: none
    std::string late_index;  // the one that serves `late`; empty: none
    std::string key_index;   // the one that finds rows by their keys; empty: none that can be named
    // The rights the user lacks: to read the mapped columns, and to claim or change rows.
    std::string read_denied;
    std::string change_denied;
};

// Finds a column by its name as the engine compares names; null if there is none.
const column_shape* find_column(
    const table_store& dialect, const std::vector<column_shape>& columns, const std::string& name
);

mapping_verdict judge(const table_need& need, const table_shape& found, const table_store& dialect);

// The rules that every mapping must keep by itself. Each throws invalid_argument.
void require_name(const std::string& name, const char* role);
void require_table(const qualified_name& table, const std::vector<std::string>& key);
void require_conditions(const std::vector<condition>& conditions);

// The values of a condition that must be told from others; empty if it is a range.
std::vector<value> told_apart_by(const condition& each);

// The kinds a column of times may be, as the mapping says.
std::vector<column_kind> kinds_of(time_kind times, engine which);

}  // namespace leasehold
