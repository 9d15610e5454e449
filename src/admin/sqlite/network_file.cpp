#include "admin/sqlite/network_file.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <istream>
#include <sstream>

namespace leasehold::sqlite_dialect {
namespace {

constexpr long fuse_number = 0x65735546;

}  // namespace

std::string network_name_of(long file_system_type) {
    struct known {
        long number;
        const char* name;
    };
    static constexpr std::array all{
        known{0x6969, "NFS"},
        known{0x517b, "SMB"},
        known{0xff534d42, "CIFS"},
        known{0xfe534d42, "SMB"},
        known{0x01021997, "9p"},
        known{0x00c36400, "Ceph"},
        known{0x0bd00bd0, "Lustre"},
        known{0x5346414f, "AFS"},
        known{0x7461636f, "OCFS2"},
        known{0x01161970, "GFS2"},
    };
    for (const known& each : all) {
        if (each.number == file_system_type) return each.name;
    }
    return "";
}

std::string network_name_of_fuse(std::string_view type) {
    constexpr std::string_view begin = "fuse.";
    if (!type.starts_with(begin)) return "";
    type.remove_prefix(begin.size());
    static constexpr std::array<std::string_view, 11> all{
        "sshfs",
        "glusterfs",
        "ceph",
        "ceph-fuse",
        "juicefs",
        "mfs",
        "s3fs",
        "gcsfuse",
        "rclone",
        "curlftpfs",
        "gvfsd-fuse"};
    const bool is_known = std::find(all.begin(), all.end(), type) != all.end();
    return is_known ? std::string{type} : "";
}

// A line: number, parent, device, root, where, options, more options, "-", type, source, options.
std::string type_of_mount(std::istream& mounts, const std::string& device) {
    std::string found;
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words{line};
        std::string word, of, type;
        words >> word >> word >> of;
        while (words >> word && word != "-") continue;
        if (words >> type && of == device) found = type;
    }
    return found;
}

std::string network_of(const std::string& path) {
    struct statfs found {};
    if (statfs(path.c_str(), &found) != 0) return "";
    if (found.f_type != fuse_number) return network_name_of(static_cast<long>(found.f_type));
    struct stat file {};
    if (stat(path.c_str(), &file) != 0) return "";
    const std::string device =
        std::to_string(major(file.st_dev)) + ":" + std::to_string(minor(file.st_dev));
    std::ifstream mounts{"/proc/self/mountinfo"};
    return network_name_of_fuse(type_of_mount(mounts, device));
}

}  // namespace leasehold::sqlite_dialect
