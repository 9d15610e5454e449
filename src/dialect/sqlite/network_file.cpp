#include "dialect/sqlite/network_file.hpp"

#include <sys/vfs.h>

#include <array>

namespace leasehold::sqlite_dialect {

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

std::string network_of(const std::string& path) {
    struct statfs found {};
    if (statfs(path.c_str(), &found) != 0) return "";
    return network_name_of(static_cast<long>(found.f_type));
}

}  // namespace leasehold::sqlite_dialect
