#pragma once
// Parameters and columns of SQLite's statements.
#include <sqlite3.h>

#include "leasehold/value.hpp"

namespace leasehold::sqlite {

// Binds parameter `at`, from 1 on, and answers with SQLite's code.
int bind(sqlite3_stmt* statement, int at, const value& given);

value column_of(sqlite3_stmt* statement, int at);
column_names names_of(sqlite3_stmt* statement);

}  // namespace leasehold::sqlite
