// refuse CALL=ERROR... -- COMMAND...: executes the command where these system calls are answered as
// by an older kernel, or by the seccomp filter of a container runtime; or by nobody, as by a file
// server that is away: CALL=stall.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

// Refused in general, or where its argument of this number is this.
struct call {
    std::string_view name;
    unsigned number;
    int argument = -1;
    unsigned value = 0;
};
constexpr std::array calls{
    call{"close_range", SYS_close_range},
    call{"close_range_at_exec", SYS_close_range, 2, 4},  // the flag came with Linux 5.11
    call{"pidfd_open", SYS_pidfd_open},
    call{"pidfd_send_signal", SYS_pidfd_send_signal},
    call{"clone3", SYS_clone3},
    call{"subreaper", SYS_prctl, 0, PR_SET_CHILD_SUBREAPER},
    call{"inotify_init1", SYS_inotify_init1},
    call{"memfd_create", SYS_memfd_create},
    call{"statx", SYS_statx},
#ifdef SYS_rename
    call{"rename", SYS_rename}};
#else
    call{"rename", SYS_renameat}};
#endif

struct error {
    std::string_view name;
    unsigned number;
};
constexpr std::array errors{
    error{"EPERM", EPERM}, error{"ENOSYS", ENOSYS}, error{"EINVAL", EINVAL}, error{"stall", 0}};

template <class List>
auto named(const List& all, std::string_view name) -> decltype(all.data()) {
    for (const auto& each : all) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

void load(std::vector<sock_filter>& rules, std::size_t offset) {
    rules.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
}

void add(std::vector<sock_filter>& rules, const call& what, unsigned problem) {
    const bool has_argument = what.argument >= 0;
    load(rules, offsetof(seccomp_data, nr));
    const unsigned char past = has_argument ? 3 : 1;
    rules.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what.number, 0, past));
    if (has_argument) {
        const auto which = static_cast<std::size_t>(what.argument);
        load(rules, offsetof(seccomp_data, args) + which * sizeof(__u64));
        rules.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what.value, 0, 1));
    }
    const unsigned answer = problem == 0 ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | problem;
    rules.push_back(BPF_STMT(BPF_RET | BPF_K, answer));
}

// The calls that stall are told to a descriptor that nobody reads, and that the command inherits.
bool install(const sock_fprog& program, bool has_stalls) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    if (!has_stalls) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    constexpr unsigned told = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    const long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, told, &program);
    return listener >= 0 && fcntl(static_cast<int>(listener), F_SETFD, 0) == 0;
}

}  // namespace

int main(int count, char** words) {
    std::vector<sock_filter> rules;
    bool has_stalls = false;
    int at = 1;
    for (; at < count && std::string_view{words[at]} != "--"; ++at) {
        const std::string_view word = words[at];
        const auto sign = word.find('=');
        const call* const what = named(calls, word.substr(0, sign));
        const error* const problem = named(errors, word.substr(std::min(sign + 1, word.size())));
        if (!what || !problem) {
            std::fprintf(stderr, "refuse: %s is unknown\n", words[at]);
            return 64;
        }
        add(rules, *what, problem->number);
        has_stalls = has_stalls || problem->number == 0;
    }
    if (at + 1 >= count) return 64;
    rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
    if (!install(program, has_stalls)) {
        std::fprintf(stderr, "refuse: no seccomp filter: %s\n", std::strerror(errno));
        return 77;
    }
    execvp(words[at + 1], words + at + 1);
    std::perror("refuse: exec");
    return 127;
}
