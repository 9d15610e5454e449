#pragma once
// Whether a value is one of a column's, held against the catalogue before anything is sent. What an
// engine makes of another type is no answer: MySQL takes 'abc' for 0 and finds rows nobody asked
// for, and on PostgreSQL it is an error that aborts the transaction. No I/O.
//
// Threads: plain functions.
#include <string>

#include "store/table_store.hpp"

namespace leasehold {

// What is done with the value.
enum class value_use {
    compared = 1,
    stored = 2,
    key = 3,  // compared; a time as the database itself wrote it, in whatever style
};

// Why the column cannot have the value, to be put behind the column's name: "is bigint, and …".
// Empty where it can.
std::string misfit(const column_shape& column, const value& given, value_use use);

// The kind of column a value would need if it were made for it.
column_kind kind_of(const value& each);

// "an integer", "text", …
const char* name_of(column_kind kind);

}  // namespace leasehold
