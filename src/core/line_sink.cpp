#include "core/line_sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>

#include "core/broken_pipe.hpp"

namespace leasehold {
namespace {

class stream_sink final : public line_sink {
public:
    explicit stream_sink(std::ostream& to) : to_(to) {}
    std::size_t write(std::string_view lines) override {
        const bool is_taken =
            to_.good() && to_.write(lines.data(), std::ssize(lines)) && to_.flush();
        return is_taken ? lines.size() : 0;
    }
    bool keeps() const noexcept override { return false; }  // the stream may have taken a part

private:
    std::ostream& to_;
};

class descriptor_sink final : public line_sink {
public:
    explicit descriptor_sink(int number, bool is_inherited = false)
        : number_(number), is_inherited_(is_inherited) {
        struct stat found {};
        is_socket_ = fstat(number, &found) == 0 && S_ISSOCK(found.st_mode);
    }

    std::size_t write(std::string_view lines) override {
        const broken_pipe_guard guard;
        std::size_t taken = 0;
        while (taken < lines.size() && is_ready()) {
            const auto part = write_some(lines.substr(taken, bytes_at_once));
            if (part <= 0) break;
            taken += static_cast<std::size_t>(part);
        }
        return taken;
    }
    bool keeps() const noexcept override { return true; }

private:
    // A pipe that is ready has room for at least this many bytes (PIPE_BUF): the write does not
    // wait.
    static constexpr std::size_t bytes_at_once = 4096;

    bool is_ready() const noexcept {
        if (is_inherited_ && fcntl(number_, F_GETFD) != 0) return false;
        pollfd asked{number_, POLLOUT, 0};
        return poll(&asked, 1, 0) == 1 && (asked.revents & POLLOUT) != 0;
    }
    ssize_t write_some(std::string_view part) const noexcept {
        ssize_t taken = -1;
        do {
            taken = is_socket_
                        ? send(number_, part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                        : ::write(number_, part.data(), part.size());
        } while (taken < 0 && errno == EINTR);
        return taken;
    }

    const int number_;
    const bool is_inherited_;
    bool is_socket_ = false;
};

}  // namespace

std::unique_ptr<line_sink> to_stream(std::ostream& stream) {
    return std::make_unique<stream_sink>(stream);
}

std::unique_ptr<line_sink> to_descriptor(int number) {
    return std::make_unique<descriptor_sink>(number);
}

std::unique_ptr<line_sink> to_standard_error() {
    return std::make_unique<descriptor_sink>(STDERR_FILENO, true);
}

}  // namespace leasehold
