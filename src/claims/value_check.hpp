#pragma once
// Checks whether a value is one of a column's, by the catalogue and before anything is sent. An
// engine's own conversion is no answer: MySQL takes 'abc' for 0 and finds rows nobody asked for,
// and on PostgreSQL it is an error that aborts the transaction. No I/O.
//
// Threads: plain functions.
#include <string>

#include "claims/table_store.hpp"

namespace leasehold {

// The use of the value.
enum class value_use {
    compared = 1,
    stored = 2,
    key = 3,  // compared; a time as the database itself wrote it, in whatever style
};

// The reason why the column cannot have the value, as a text to follow the column's name: "is
// bigint, and …". Empty if it can.
std::string misfit(const column_shape& column, const value& given, value_use use);

// The kind of column a value would need if it were made for it.
column_kind kind_of(const value& each);

// "an integer", "text", …
const char* name_of(column_kind kind);

}  // namespace leasehold
