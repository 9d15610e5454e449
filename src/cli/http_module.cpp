// cpp-httplib behind http.hpp, in a module of its own: the only file that includes it.
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "cli/http.hpp"
#include "leasehold/export.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

// The connection of one request. The library counts the time between two bytes alone, and keeps as
// many headers as come: here a request is to arrive, and an answer to be taken, in so long.
class bounded_stream final : public httplib::Stream {
public:
    explicit bounded_stream(socket_t socket) : socket_(socket) {}

    bool is_readable() const override { return begin_ < end_ || is_ready(POLLIN, arrived_by_); }
    bool is_writable() const override { return is_ready(POLLOUT, clock::now() + answer_time); }

    ssize_t read(char* to, std::size_t size) override {
        if (begin_ == end_) {
            const ssize_t count = fill();
            if (count <= 0) return count;
        }
        const std::size_t count = std::min(size, end_ - begin_);
        std::copy_n(buffer_.data() + begin_, count, to);
        begin_ += count;
        return static_cast<ssize_t>(count);
    }
    ssize_t write(const char* from, std::size_t size) override {
        const auto taken_by = clock::now() + answer_time;
        for (std::size_t sent = 0; sent < size;) {
            if (!is_ready(POLLOUT, taken_by)) return -1;
            const ssize_t count =
                ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0 && errno != EAGAIN && errno != EINTR) return -1;
            sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        }
        return static_cast<ssize_t>(size);
    }

    // Nothing here asks who it is.
    void get_remote_ip_and_port(std::string&, int&) const override {}
    void get_local_ip_and_port(std::string&, int&) const override {}
    socket_t socket() const override { return socket_; }

private:
    using clock = std::chrono::steady_clock;
    static constexpr auto request_time = 2s, answer_time = 5s;
    static constexpr std::size_t request_bytes = 98304;  // headers, and the largest body

    ssize_t fill() {
        if (left_ == 0 || !is_ready(POLLIN, arrived_by_)) return -1;
        const ssize_t count =
            ::recv(socket_, buffer_.data(), std::min(left_, buffer_.size()), MSG_DONTWAIT);
        if (count <= 0) return count;
        begin_ = 0;
        end_ = static_cast<std::size_t>(count);
        left_ -= end_;
        return count;
    }
    bool is_ready(short what, clock::time_point until) const {
        while (true) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
            if (left.count() <= 0) return false;
            pollfd asked{socket_, what, 0};
            const int ready = ::poll(&asked, 1, static_cast<int>(left.count()));
            if (ready > 0) return true;
            if (ready == 0 || errno != EINTR) return false;
        }
    }

    const socket_t socket_;
    const clock::time_point arrived_by_ = clock::now() + request_time;
    std::size_t left_ = request_bytes;
    std::array<char, 4096> buffer_{};
    std::size_t begin_ = 0, end_ = 0;
};

class bounded_server final : public httplib::Server {
    bool process_and_close_socket(socket_t socket) override {
        bounded_stream stream{socket};
        bool is_closed = false;
        // A browser that kept its connection open would keep a thread.
        const bool is_answered = process_request(stream, true, is_closed, nullptr);
        ::shutdown(socket, SHUT_RDWR);
        ::close(socket);
        return is_answered;
    }
};

std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char each) {
        return static_cast<char>(std::tolower(each));
    });
    return text;
}

http_request request_of(const httplib::Request& from) {
    http_request request;
    request.method = from.method;
    request.path = from.path;
    // The library puts what a form has beside what the address has, which is in logs and histories:
    // a form's fields come in its body alone.
    const bool is_form = from.method == "POST";
    if (!is_form || from.target.find('?') == std::string::npos) {
        auto& parameters = is_form ? request.form : request.query;
        for (const auto& [name, value] : from.params) parameters.emplace(name, value);
    }
    for (const auto& [name, value] : from.headers) {
        request.headers.emplace(lower_case(name), value);
    }
    return request;
}

class library_server final : public http_server {
public:
    explicit library_server(http_handler handler) : handler_(std::move(handler)) {
        constexpr std::size_t threads = 16;
        server_.new_task_queue = [] { return new httplib::ThreadPool(threads); };
        // The library's own options let a second program take the same port; and its queue of
        // connections that nobody has accepted yet has room for five.
        server_.set_socket_options([this](socket_t socket) {
            const int yes = 1;
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            socket_ = socket;
        });
        constexpr std::size_t body_max = 16384;
        server_.set_payload_max_length(body_max);
        const auto answer = [this](const httplib::Request& from, httplib::Response& to) {
            const http_response made = handler_(request_of(from));
            to.status = made.status;
            for (const auto& [name, value] : made.headers) to.set_header(name.c_str(), value);
            to.set_content(made.body, made.type.c_str());
        };
        server_.Get(".*", answer).Post(".*", answer).Options(".*", answer);
        server_.Put(".*", answer).Patch(".*", answer).Delete(".*", answer);
    }

    int bind(const std::string& address, int port) override {
        if (port == 0) {
            port = std::max(server_.bind_to_any_port(address), 0);
        } else if (!server_.bind_to_port(address, port)) {
            port = 0;
        }
        constexpr int backlog = 256;
        if (port != 0) ::listen(socket_, backlog);
        return port;
    }
    bool serve() override { return server_.listen_after_bind(); }
    void stop() override { server_.stop(); }

private:
    const http_handler handler_;
    bounded_server server_;
    socket_t socket_ = INVALID_SOCKET;
};

std::unique_ptr<http_server> made_of_the_library(http_handler handler) {
    return std::make_unique<library_server>(std::move(handler));
}

}  // namespace
}  // namespace leasehold::cli

extern "C" {
LEASEHOLD_EXPORT extern const leasehold::cli::http_maker leasehold_http;
const leasehold::cli::http_maker leasehold_http = &leasehold::cli::made_of_the_library;
}
