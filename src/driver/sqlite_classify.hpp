#pragma once
// Private to the SQLite driver: the meanings of result codes. Tested as a table in
// tests/unit/classify_sqlite_test.cpp.
#include "leasehold/error.hpp"

namespace leasehold {

// Classifies an extended result code.
errc classify_sqlite(int extended_code) noexcept;

// True when a statement failed because there is no disk space or memory left: it may pass.
// `system_error`: that of the operating system; SQLite has a number for a file that cannot grow,
// but none for a log or its index that cannot be made.
bool is_exhausted_sqlite(int extended_code, int system_error) noexcept;

}  // namespace leasehold
