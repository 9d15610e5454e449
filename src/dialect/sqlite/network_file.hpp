#pragma once
// Whether a file is on a file system of another machine, where SQLite's locks may not hold.
// Source: https://www.sqlite.org/faq.html#q5, and statfs(2) for the numbers.
#include <string>

namespace leasehold::sqlite_dialect {

// "NFS", "SMB", …; empty: a file system of this machine, or one that is not known.
std::string network_name_of(long file_system_type);

// The same of a file that is there.
std::string network_of(const std::string& path);

}  // namespace leasehold::sqlite_dialect
