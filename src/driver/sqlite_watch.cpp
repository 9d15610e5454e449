#include "driver/sqlite_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "driver/sqlite_file.hpp"
#include "leasehold/error.hpp"

namespace leasehold::sqlite {
namespace {

using std::chrono::milliseconds;

std::string name_of_file(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

file_watch::file_watch(const std::string& path) : name_(name_of_file(path)) {
    events_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (events_ >= 0 && inotify_add_watch(events_, folder_of(path).c_str(), IN_MODIFY) >= 0) return;
    if (events_ >= 0) close(events_);
    throw error(
        errc::unsupported,
        "the folder of " + path + " cannot be watched; see the fs.inotify limits of this machine"
    );
}

file_watch::~file_watch() {
    close(events_);
}

bool file_watch::wait(local_clock::time_point until) {
    for (;;) {
        if (takes_events()) return true;
        const auto left = std::chrono::ceil<milliseconds>(until - local_clock::now());
        if (left <= milliseconds{0}) return false;
        constexpr milliseconds max_slice{1000};
        pollfd watched{events_, POLLIN, 0};
        ::poll(&watched, 1, static_cast<int>(std::min(left, max_slice).count()));
    }
}

// Takes all events that have come; an overflow of their queue counts as one of ours.
bool file_watch::takes_events() {
    bool is_ours = false;
    alignas(inotify_event) char buffer[4096];
    for (;;) {
        const auto size = read(events_, buffer, sizeof buffer);
        if (size <= 0) return is_ours;
        for (ssize_t at = 0; at < size;) {
            const auto& event = *reinterpret_cast<const inotify_event*>(buffer + at);
            at += static_cast<ssize_t>(sizeof event + event.len);
            const std::string_view written{event.len > 0 ? event.name : ""};
            is_ours = is_ours || (event.mask & IN_Q_OVERFLOW) != 0 || written == name_ ||
                      written == name_ + "-wal" || written == name_ + "-journal";
        }
    }
}

}  // namespace leasehold::sqlite
