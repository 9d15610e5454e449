#include "leasehold/fence_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "core/number_in.hpp"
#include "leasehold/error.hpp"
#include "locks/keep_asking.hpp"

namespace leasehold {
namespace {

[[noreturn]] void fail(const std::filesystem::path& on, const char* what) {
    const std::string why = std::generic_category().message(errno);
    throw error(
        errc::database_error,
        std::string("could not ") + what + " '" + on.string() + "': " + why +
            "; see that its folder exists and may be written to"
    );
}

// An open file, closed when destroyed, which frees its locks.
class open_file {
public:
    open_file(const std::filesystem::path& path, int flags)
        : number_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
        if (number_ < 0) fail(path, "open");
    }
    ~open_file() { close(number_); }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;
    int number() const noexcept { return number_; }

private:
    int number_;
};

void lock(const open_file& what, const std::filesystem::path& path, wait_time most) {
    constexpr polling polls{std::chrono::milliseconds{1}, std::chrono::milliseconds{50}};
    const bool is_ours = keep_asking({most, {}}, polls, {}, false, [&] {
        if (flock(what.number(), LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) fail(path, "lock");
        return false;
    });
    if (is_ours) return;
    throw error(
        errc::timed_out,
        "somebody else is writing under '" + path.string() + "' and does not end; try again later"
    );
}

std::optional<fencing_token> read_number(const std::filesystem::path& path) {
    errno = 0;
    std::ifstream in{path};
    if (!in) {
        // errno is that of this very attempt: another process may make the file in the next moment.
        if (errno == ENOENT) return std::nullopt;
        fail(path, "read");
    }
    std::string text;
    std::getline(in, text);
    const auto number = number_in<std::int64_t>(text);
    if (number && *number > 0) return fencing_token{*number};
    throw error(
        errc::database_error,
        "'" + path.string() + "' does not hold a fencing token; whoever wrote it did not use " +
            "leasehold: move it away once it is known which token was the highest"
    );
}

// Writes the number whole or not at all.
void write_number(const std::filesystem::path& path, fencing_token token) {
    const std::filesystem::path fresh = path.string() + ".new";
    {
        const open_file out{fresh, O_WRONLY | O_CREAT | O_TRUNC};
        const std::string text = std::to_string(token.number) + '\n';
        const auto written = write(out.number(), text.data(), text.size());
        if (written != static_cast<ssize_t>(text.size()) || fsync(out.number()) != 0) {
            fail(fresh, "write");
        }
    }
    if (rename(fresh.c_str(), path.c_str()) != 0) fail(path, "replace");
}

// Makes sure that the file is the new one after a power cut, too.
void keep_entry(const std::filesystem::path& path) {
    const auto folder = path.parent_path();
    const open_file entry{folder, O_RDONLY | O_DIRECTORY};
    if (fsync(entry.number()) != 0) fail(folder, "write");
}

}  // namespace

fence_file::fence_file(std::string path) : path_(std::move(path)) {
    if (path_.empty()) {
        throw error(
            errc::invalid_argument, "a fence file needs a path, such as /srv/reports/.fence"
        );
    }
    std::error_code failed;
    const auto whole = std::filesystem::absolute(path_, failed);
    if (failed) {
        throw error(
            errc::database_error,
            "'" + path_ + "' begins at the current folder, and that is gone: " + failed.message()
        );
    }
    path_ = whole.string();
}

void fence_file::admit(fencing_token token, const callable<void()>& action, wait_time timeout)
    const {
    if (!action) refuse_empty_callable();  // before the token is admitted
    if (token.number < 1) {
        throw error(errc::invalid_argument, "a fencing token is greater than 0: use lease.token()");
    }
    const std::filesystem::path lock_path = path_ + ".lock";
    const open_file alone{lock_path, O_RDWR | O_CREAT};
    lock(alone, lock_path, timeout);
    const auto seen = read_number(path_);
    if (seen && *seen > token) {
        throw error(
            errc::lease_lost,
            "token " + std::to_string(token.number) + " is stale: a holder of token " +
                std::to_string(seen->number) + " has written under '" + path_ + "'"
        );
    }
    if (seen != token) write_number(path_, token);
    keep_entry(path_);  // also for an equal one: its writer may have died before it did so
    action();
}

std::optional<fencing_token> fence_file::highest() const {
    return read_number(path_);
}

}  // namespace leasehold
