#pragma once
// The numbers that a folder of /proc lists: processes, or descriptors; and operations on all
// descriptors of a range, also if the system has no close_range() (Linux before 5.9, its flag
// before 5.11), or if a filter of an old container runtime refuses that call.
//
// Threads: any. Async-signal-safe, which opendir() is not.
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace leasehold::cli {

// 0: no number.
std::uint64_t number_in(std::string_view text) noexcept;

// The entries of getdents64.
struct folder_entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
};

// Names that are no numbers are left out, and 0.
template <class Visit>
void for_each_number(int folder, Visit visit) noexcept {
    alignas(folder_entry) std::array<char, 16'384> part{};
    while (true) {
        const long got = syscall(SYS_getdents64, folder, part.data(), part.size());
        if (got <= 0) return;
        for (long at = 0; at < got;) {
            const char* const here = part.data() + at;
            unsigned short length = 0;
            std::memcpy(&length, here + offsetof(folder_entry, length), sizeof length);
            const auto number = number_in(here + offsetof(folder_entry, name));
            at += length;
            if (number != 0) visit(number);
        }
    }
}

// Concerns all open descriptors from `first` to `last`, both included; `first` is not 0.
void close_all(unsigned first, unsigned last) noexcept;
void close_all_at_exec(unsigned first, unsigned last) noexcept;

}  // namespace leasehold::cli
