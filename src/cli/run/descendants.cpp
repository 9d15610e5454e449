#include "cli/run/descendants.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "cli/open_numbers.hpp"
#include "cli/run/events.hpp"
#include "leasehold/export.hpp"

namespace leasehold::cli {
namespace {

// More processes than a machine runs. A page of this memory takes room only once it is used.
constexpr std::size_t max_processes = 262'144;

// The fields of /proc/…/stat that come after the name, which may have blanks and brackets in it.
class fields {
public:
    explicit fields(std::string_view text LEASEHOLD_LIFETIMEBOUND) noexcept : rest_(text) {}
    std::string_view next() noexcept {
        const auto end = std::min(rest_.find(' '), rest_.size());
        const std::string_view found = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        return found;
    }
    void skip(int how_many) noexcept {
        for (; how_many > 0; --how_many) next();
    }

private:
    std::string_view rest_;
};

}  // namespace

descendants::descendants() {
    void* const memory = mmap(
        nullptr,
        max_processes * sizeof(process),
        PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
        -1,
        0
    );
    if (memory == MAP_FAILED) fail("mmap");
    all_ = static_cast<process*>(memory);
}

descendants::~descendants() {
    munmap(all_, max_processes * sizeof(process));
}

bool descendants::read_process(int folder, pid_t id, process& into) noexcept {
    std::array<char, 32> path{};
    char* at = path.data() + 16;
    std::memcpy(at, "/stat", 6);
    for (pid_t rest = id; rest > 0; rest /= 10) *--at = static_cast<char>('0' + rest % 10);
    const int file = openat(folder, at, O_RDONLY | O_CLOEXEC);  // NOLINT(*-vararg)
    if (file < 0) return false;
    std::array<char, 1024> text{};
    const auto got = read(file, text.data(), text.size());
    close(file);
    if (got <= 0) return false;
    const std::string_view line{text.data(), static_cast<std::size_t>(got)};
    const auto name_end = line.rfind(") ");
    if (name_end == std::string_view::npos) return false;
    fields rest{line.substr(name_end + 2)};
    const std::string_view state = rest.next();
    into.id = id;
    into.parent = static_cast<pid_t>(number_in(rest.next()));
    into.group = static_cast<pid_t>(number_in(rest.next()));
    into.session = static_cast<pid_t>(number_in(rest.next()));
    rest.skip(13);
    const auto threads = number_in(rest.next());
    rest.skip(1);
    into.started = number_in(rest.next());
    // The first thread of the process may have ended while other threads go on.
    into.has_ended = (state == "Z" || state == "X" || state == "x") && threads <= 1;
    into.is_ours = false;
    return true;
}

void descendants::look(int folder) noexcept {
    count_ = 0;
    for_each_number(folder, [&](std::uint64_t number) {
        if (count_ == max_processes) return;
        if (read_process(folder, static_cast<pid_t>(number), all_[count_])) ++count_;
    });
}

const descendants::process* descendants::find(pid_t id) const noexcept {
    const process* const end = all_ + count_;
    const auto* const found = std::lower_bound(
        static_cast<const process*>(all_),
        end,
        id,
        [](const process& each, pid_t wanted) { return each.id < wanted; }
    );
    return found != end && found->id == id ? found : nullptr;
}

// Finds a process whose parent has ended by its group or session, too, as long as the process that
// began that group or session exists. The number of a group stays taken until all its processes
// have left it. Nothing else finds such a process if the kernel, or a container's filter, makes no
// process a subreaper.
void descendants::mark(pid_t root) noexcept {
    const auto is_of = [&](pid_t id) {
        const process* const found = find(id);
        return found && found->is_ours;
    };
    for (bool has_found = true; has_found;) {
        has_found = false;
        for (process* each = all_; each != all_ + count_; ++each) {
            if (each->is_ours || each->id == root) continue;
            each->is_ours = each->parent == root || is_of(each->parent) || is_of(each->group) ||
                            is_of(each->session);
            has_found = has_found || each->is_ours;
        }
    }
}

// The system may use a number again as soon as its process is gone. A handle of pidfd_open stands
// for one process: if the process with that number still has the start time that was read before,
// the handle is of the process that was found. Linux before 5.3 has no such handle, and a
// container's filter may refuse either call; there the signal goes to the number alone.
bool descendants::send(int folder, const process& to, int number) noexcept {
    const auto handle = static_cast<int>(syscall(SYS_pidfd_open, to.id, 0));
    if (handle < 0 && errno == ESRCH) return false;
    process now{};
    bool is_sent = false;
    if (read_process(folder, to.id, now) && now.started == to.started) {
        is_sent = handle >= 0 && syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0) == 0;
        const bool has_ended = handle >= 0 && errno == ESRCH;
        if (!is_sent && !has_ended) is_sent = kill(to.id, number) == 0;
    }
    if (handle >= 0) close(handle);
    return is_sent;
}

descendants::count descendants::signal(pid_t root, pid_t spared, int number) noexcept {
    count found;
    const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // NOLINT(*-vararg)
    if (folder < 0) return found;
    look(folder);
    mark(root);
    for (const process* each = all_; each != all_ + count_; ++each) {
        if (!each->is_ours || each->has_ended) continue;
        ++found.living;
        if (spared != 0 && each->group == spared) continue;
        if (send(folder, *each, number)) ++found.reached;
    }
    close(folder);
    return found;
}

}  // namespace leasehold::cli
