#include "cli/run/error_tee.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <iterator>
#include <utility>

#include "cli/open_numbers.hpp"

namespace leasehold::cli {

void cut_front(std::string& text, std::size_t max_bytes) {
    if (text.size() <= max_bytes) return;
    std::size_t first = text.size() - max_bytes;
    while (first < text.size() && (static_cast<unsigned char>(text[first]) & 0xc0U) == 0x80U) {
        ++first;
    }
    text.erase(0, first);
}

std::string without_overwritten(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        while (line.ends_with('\r')) line.remove_suffix(1);
        line.remove_prefix(line.rfind('\r') + 1);  // of none: 0
        shown += line;
        if (end < text.size()) shown += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return shown;
}

// The copying process. It is forked from one with threads: async-signal-safe calls only.
class error_tee::copier {
public:
    [[noreturn]] void run(int reading, int asks) {
        setsid();  // no signal to the tool's group, or of a terminal, ends it before the command
        for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE}) {
            signal(number, SIG_IGN);
        }
        prctl(PR_SET_NAME, "leasehold-tee");
        // Nothing else of the tool's stays open here: no connection, no output that a reader of
        // the tool's waits to see closed.
        const int high_reading = fcntl(reading, F_DUPFD_CLOEXEC, lowest_high);  // NOLINT(*-vararg)
        const int high_asks = fcntl(asks, F_DUPFD_CLOEXEC, lowest_high);        // NOLINT(*-vararg)
        dup2(high_reading, STDIN_FILENO);
        dup2(high_asks, STDOUT_FILENO);
        close_all(STDERR_FILENO + 1, UINT_MAX);
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);  // NOLINT(*-vararg)
        while (!is_over_ || size_ > 0) {
            pollfd sources[]{
                {size_ < max_copied && !is_over_ ? STDIN_FILENO : -1, POLLIN, 0},
                {size_ > 0 ? STDERR_FILENO : -1, POLLOUT, 0},
                {is_asked_ ? -1 : STDOUT_FILENO, POLLIN, 0}};
            if (poll(sources, std::size(sources), -1) < 0) continue;
            if (sources[0].revents != 0) listen(max_copied);
            if (sources[1].revents != 0) speak();
            if (sources[2].revents != 0) answer();
            if (is_asked_ && size_ == 0) close(STDOUT_FILENO);
        }
        if (!is_asked_) answer();
        _exit(0);
    }

private:
    static constexpr int lowest_high = 16;
    // If poll() says that a pipe is writable it takes this many bytes without waiting (PIPE_BUF).
    static constexpr std::size_t max_piece = 4096;

    // Reads into the buffer, up to `max_filled` bytes. False if it is full or no byte came.
    bool listen(std::size_t max_filled) {
        if (size_ >= max_filled) return false;
        const auto got = read(STDIN_FILENO, buffer_.data() + size_, max_filled - size_);
        if (got < 0) return errno == EINTR;
        if (got == 0) {
            is_over_ = true;
            return false;
        }
        const auto count = static_cast<std::size_t>(got);
        keep(buffer_.data() + size_, count);
        size_ += count;
        return true;
    }

    // The last bytes, one more than the answer has: that byte tells whether the answer's first
    // character is whole.
    void keep(const char* from, std::size_t count) {
        const auto added = std::min(count, kept_.size());
        const auto stays = std::min(kept_size_, kept_.size() - added);
        std::memmove(kept_.data(), kept_.data() + kept_size_ - stays, stays);
        std::memcpy(kept_.data() + stays, from + count - added, added);
        kept_size_ = stays + added;
    }

    void speak() {
        const auto count = write(STDERR_FILENO, buffer_.data(), std::min(size_, max_piece));
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
        // Text that can never be written is lost, and the command goes on.
        const auto taken = count < 0 ? size_ : static_cast<std::size_t>(count);
        size_ -= taken;
        std::memmove(buffer_.data(), buffer_.data() + taken, size_);
    }

    // The command or the tool has ended: the bytes that are still in the pipe belong to the answer.
    void answer() {
        while (!is_over_ && listen(buffer_.size())) {
        }
        is_asked_ = true;
        send(STDOUT_FILENO, kept_.data(), kept_size_, MSG_NOSIGNAL | MSG_DONTWAIT);
    }

    // Beside the copied bytes there is room for a full pipe, in case the reader is stalled.
    static constexpr std::size_t max_copied = std::size_t{1} << 16;
    std::array<char, 2 * max_copied> buffer_{};
    std::array<char, max_kept + 1> kept_{};
    std::size_t size_ = 0;
    std::size_t kept_size_ = 0;
    bool is_over_ = false;
    bool is_asked_ = false;
};

error_tee::error_tee() {
    pipe_ends copied;
    writing_ = std::move(copied.writing);
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    const descriptor theirs{ends[0]};
    asks_ = descriptor{ends[1]};
    static copier copies;  // too large for a stack, and a fork has its own
    // Forked twice, so that nobody has to wait for its end.
    const pid_t between = fork();
    if (between < 0) fail("fork");
    if (between == 0) {
        const pid_t last = fork();
        if (last != 0) _exit(last < 0 ? 1 : 0);
        writing_.close();
        asks_.close();
        copies.run(copied.reading.number(), theirs.number());
    }
    int status = 0;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) {
        errno = EAGAIN;
        fail("fork");
    }
}

std::string error_tee::take_end() {
    constexpr std::chrono::seconds timeout{2};
    close_writing_end();
    shutdown(asks_.number(), SHUT_WR);
    std::string end(max_kept + 1, '\0');
    const auto got = wait_for({asks_.number()}, timeout)
                         ? recv(asks_.number(), end.data(), end.size(), MSG_DONTWAIT)
                         : 0;
    end.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    cut_front(end, max_kept);
    // It closes its end when all is written, so that nothing of ours comes before.
    if (!end.empty()) wait_for({asks_.number()}, timeout);
    return without_overwritten(end);
}

}  // namespace leasehold::cli
