#include "cli/open_numbers.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>

namespace leasehold::cli {
namespace {

// Visits each open descriptor; if there is no /proc, each number that a descriptor can have.
template <class Visit>
void for_each_open(unsigned first, unsigned last, Visit visit) noexcept {
    const int folder =
        ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // NOLINT(*-vararg)
    if (folder >= 0) {
        for_each_number(folder, [&](std::uint64_t number) {
            const bool is_meant = number >= first && number <= last;
            if (is_meant && number != static_cast<unsigned>(folder))
                visit(static_cast<int>(number));
        });
        close(folder);
        return;
    }
    rlimit there_are{};
    if (getrlimit(RLIMIT_NOFILE, &there_are) != 0) return;
    for (rlim_t each = first; each <= last && each < there_are.rlim_cur; ++each) {
        visit(static_cast<int>(each));
    }
}

}  // namespace

std::uint64_t number_in(std::string_view text) noexcept {
    std::uint64_t number = 0;
    for (const char each : text) {
        if (each < '0' || each > '9') return 0;
        number = number * 10 + static_cast<std::uint64_t>(each - '0');
    }
    return number;
}

void close_all(unsigned first, unsigned last) noexcept {
    if (syscall(SYS_close_range, first, last, 0U) == 0) return;
    for_each_open(first, last, [](int number) { close(number); });
}

void close_all_at_exec(unsigned first, unsigned last) noexcept {
    if (syscall(SYS_close_range, first, last, CLOSE_RANGE_CLOEXEC) == 0) return;
    for_each_open(first, last, [](int number) {
        const int flags = fcntl(number, F_GETFD);                    // NOLINT(*-vararg)
        if (flags >= 0) fcntl(number, F_SETFD, flags | FD_CLOEXEC);  // NOLINT(*-vararg)
    });
}

}  // namespace leasehold::cli
