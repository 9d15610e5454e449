#pragma once
// Tells whether a file is on a file system of another machine, where SQLite's locks may not hold.
// Source: https://www.sqlite.org/faq.html#q5, and statfs(2) for the numbers. All of FUSE have one
// number: the table of mounts, proc(5), has their types.
#include <iosfwd>
#include <string>
#include <string_view>

namespace leasehold::sqlite_dialect {

// "NFS", "SMB", …; empty: a file system of this machine, or an unknown one.
std::string network_name_of(long file_system_type);
// The same name by the type of a mount: "fuse.sshfs" is "sshfs".
std::string network_name_of_fuse(std::string_view type);
// The type in /proc/self/mountinfo of a device, "0:39"; of several mounts the last; or empty.
std::string type_of_mount(std::istream& mounts, const std::string& device);

// network_name_of() the file system of an existing file.
std::string network_of(const std::string& path);

}  // namespace leasehold::sqlite_dialect
