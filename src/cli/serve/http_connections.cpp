#include "cli/serve/http_connections.hpp"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "cli/serve/http.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto request_time = 2s, answer_time = 5s;
constexpr std::size_t max_connections = 512;
constexpr std::size_t max_head = 81920;
constexpr std::string_view head_end = "\r\n\r\n";

bool may_pass(int failure) {
    return failure == EAGAIN || failure == EWOULDBLOCK || failure == EINTR;
}

// The number behind that name, which is in lower case; 0 if there is none.
std::size_t content_length(const std::string& given) {
    const std::string head = lower_case(given);
    constexpr std::string_view name = "\r\ncontent-length:";
    const auto found = head.find(name);
    if (found == std::string::npos) return 0;
    const auto first = head.find_first_not_of(" \t", found + name.size());
    std::size_t length = 0;
    if (first != std::string::npos) {
        std::from_chars(head.data() + first, head.data() + head.size(), length);
    }
    return length;
}

}  // namespace

std::size_t request_size(const std::string& bytes, std::size_t& looked, std::size_t max_body) {
    const auto end = bytes.find(head_end, looked - std::min(looked, head_end.size() - 1));
    looked = bytes.size();
    if (end == std::string::npos) return 0;
    const std::size_t body = content_length(bytes.substr(0, end));
    return end + head_end.size() + (body > max_body ? 0 : body);
}

http_connections::http_connections(request_handler handler, std::size_t max_body)
    : handler_(std::move(handler)),
      max_body_(max_body),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (wake_ < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
}

http_connections::~http_connections() {
    while (!peers_.empty()) close(peers_.begin());
    ::close(wake_);
}

void http_connections::wake() const {
    const std::uint64_t one = 1;
    // The write fails only if a wake-up is pending anyway.
    static_cast<void>(!::write(wake_, &one, sizeof one));
}

void http_connections::stop() {
    is_stopped_ = true;
    wake();
}

void http_connections::reply(std::uint64_t connection, std::string answer) {
    {
        const std::lock_guard guard{mutex_};
        replies_.emplace_back(connection, std::move(answer));
    }
    wake();
}

bool http_connections::serve(int listener) {
    while (true) {
        wait(listener);
        if (is_stopped_) return true;
        take_replies();
        for (std::size_t at = 0; at < asked_of_.size(); ++at) {
            const auto which = peers_.find(asked_of_[at]);
            if (asked_[at + 2].revents == 0 || which == peers_.end()) continue;
            which->second.at == stage::arriving ? read_from(which) : write_to(which);
        }
        close_late();
        if (!accept_all(listener)) return false;
    }
}

void http_connections::wait(int listener) {
    // A negative descriptor is passed over.
    asked_ = {{wake_, POLLIN, 0}, {is_full_ ? -1 : listener, POLLIN, 0}};
    asked_of_.clear();
    const auto now = clock::now();
    auto until = now + (is_full_ ? clock::duration{100ms} : clock::duration{1h});
    for (const auto& [number, each] : peers_) {
        if (each.at == stage::with_handler) continue;
        const short what = each.at == stage::arriving ? POLLIN : POLLOUT;
        asked_.push_back({each.socket, what, 0});
        asked_of_.push_back(number);
        until = std::min(until, each.until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    const int ready = ::poll(
        asked_.data(), asked_.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0))
    );
    if (ready <= 0) {
        for (pollfd& each : asked_) each.revents = 0;
    }
    std::uint64_t count = 0;
    static_cast<void>(!::read(wake_, &count, sizeof count));
    is_full_ = false;
}

http_connections::peers::iterator http_connections::slowest() {
    return std::find_if(peers_.begin(), peers_.end(), [](const auto& each) {
        return each.second.at != stage::with_handler;
    });
}

// If there is no room for one more, closes the client that has been slow for longest.
bool http_connections::accept_all(int listener) {
    constexpr int at_once = 64;  // then those that exist have their turn
    for (int count = 0; count < at_once; ++count) {
        const bool is_crowded = peers_.size() >= max_connections;
        const auto oldest = slowest();
        is_full_ = is_crowded && oldest == peers_.end();
        if (is_full_) return true;
        const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket >= 0) {
            if (is_crowded) close(oldest);
            const auto made = peers_.emplace(++last_, peer{socket, clock::now() + request_time});
            read_from(made.first);
            continue;
        }
        if (may_pass(errno)) return true;
        if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) return false;
        // The client closed before it was accepted; otherwise no descriptor or memory is left.
        if (errno == ECONNABORTED || errno == EPROTO) continue;
        is_full_ = oldest == peers_.end();
        if (is_full_) return true;
        close(oldest);
    }
    return true;
}

void http_connections::take_replies() {
    std::vector<std::pair<std::uint64_t, std::string>> replies;
    {
        const std::lock_guard guard{mutex_};
        replies.swap(replies_);
    }
    for (auto& [number, answer] : replies) {
        const auto which = peers_.find(number);
        if (which == peers_.end()) continue;
        which->second.at = stage::leaving;
        which->second.bytes = std::move(answer);
        which->second.until = clock::now() + answer_time;
        write_to(which);
    }
}

void http_connections::read_from(peers::iterator from) {
    peer& of = from->second;
    std::array<char, 4096> buffer{};
    const ssize_t count = ::recv(of.socket, buffer.data(), buffer.size(), 0);
    if (count < 0 && may_pass(errno)) return;
    if (count <= 0) {
        close(from);
        return;
    }
    of.bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (of.size == 0) of.size = request_size(of.bytes, of.looked, max_body_);
    if (of.size == 0 && of.bytes.size() > max_head) {
        close(from);
    } else if (of.size != 0 && of.bytes.size() >= of.size) {
        of.at = stage::with_handler;
        handler_(from->first, std::move(of.bytes));
    }
}

void http_connections::write_to(peers::iterator to) {
    peer& of = to->second;
    while (of.passed < of.bytes.size()) {
        const ssize_t count = ::send(
            of.socket, of.bytes.data() + of.passed, of.bytes.size() - of.passed, MSG_NOSIGNAL
        );
        if (count < 0 && may_pass(errno)) return;
        if (count < 0) break;
        of.passed += static_cast<std::size_t>(count);
    }
    close(to);
}

void http_connections::close_late() {
    const auto now = clock::now();
    for (auto each = peers_.begin(); each != peers_.end();) {
        const bool is_late = each->second.at != stage::with_handler && each->second.until <= now;
        each = is_late ? close(each) : std::next(each);
    }
}

http_connections::peers::iterator http_connections::close(peers::iterator which) {
    ::shutdown(which->second.socket, SHUT_RDWR);
    ::close(which->second.socket);
    return peers_.erase(which);
}

}  // namespace leasehold::cli
