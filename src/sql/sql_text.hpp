#pragma once
// Statements and migrations are written with these two placeholders, filled in once; statements.hpp
// has the placeholders of statements alone.
//
// {prefix}lock  → the table's name as statements use it: "ops".leasehold_lock
// {bare}lock    → that name without a schema, for the names of indexes and constraints
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/database.hpp"

namespace leasehold {

// Throws invalid_argument for names that table_names does not allow.
void require_valid(const table_names& names);

std::string fill_in(std::string_view text, const table_names& names);

// The text with `by` in place of each `placeholder`.
std::string replaced(std::string_view text, std::string_view placeholder, std::string_view by);

// The least byte string greater than every key that begins with `prefix`: no UTF-8 text contains
// the byte FF.
std::string end_of_prefix(std::string_view prefix);

// The least byte string that is not less than `prefix`, and greater than `after`; without an
// `after`, the prefix.
std::string first_of_page(std::string_view prefix, std::string_view after);

// Splits a script at `;` that ends a line. Comments stay with the statement they precede; a part
// with nothing but comments is dropped.
std::vector<std::string> split_statements(std::string_view script);

// "a ""name""" or `a ``name```: any text becomes one identifier.
std::string quoted_identifier(std::string_view name, char quote);

}  // namespace leasehold
