// cpp-httplib behind http.hpp, in a module of its own: the only file that includes it.
#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "cli/serve/http.hpp"
#include "cli/serve/http_connections.hpp"
#include "leasehold/export.hpp"

namespace leasehold::cli {
namespace {

// A request that has arrived, and the answer that is made of it: nothing here waits for a network.
class request_stream final : public httplib::Stream {
public:
    explicit request_stream(std::string request) : request_(std::move(request)) {}

    bool is_readable() const override { return begin_ < request_.size(); }
    bool is_writable() const override { return true; }

    // Behind the last byte the library reads the end of the connection.
    ssize_t read(char* to, std::size_t size) override {
        const std::size_t count = std::min(size, request_.size() - begin_);
        std::copy_n(request_.data() + begin_, count, to);
        begin_ += count;
        return static_cast<ssize_t>(count);
    }
    ssize_t write(const char* from, std::size_t size) override {
        answer_.append(from, size);
        return static_cast<ssize_t>(size);
    }

    // No handler here asks for the peer's address.
    void get_remote_ip_and_port(std::string&, int&) const override {}
    void get_local_ip_and_port(std::string&, int&) const override {}
    socket_t socket() const override { return INVALID_SOCKET; }

    std::string take_answer() { return std::move(answer_); }

private:
    const std::string request_;
    std::size_t begin_ = 0;
    std::string answer_;
};

// The library's parser and writer, without its sockets and threads.
class request_server final : public httplib::Server {
public:
    std::string answer(std::string request) {
        request_stream stream{std::move(request)};
        bool is_closed = false;
        // If a browser kept its connection open, it would take a place from others.
        process_request(stream, true, is_closed, nullptr);
        return stream.take_answer();
    }
};

http_request request_of(const httplib::Request& from) {
    http_request request;
    request.method = from.method;
    request.path = from.path;
    // The library puts a form's fields beside those of the address, which is in logs and histories:
    // here a form's fields come from its body alone.
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

constexpr std::size_t max_body = 16384;

class library_server final : public http_server {
public:
    explicit library_server(http_handler handler)
        : handler_(std::move(handler)),
          connections_(
              [this](std::uint64_t connection, std::string request) {
                  pool_->enqueue([this, connection, request = std::move(request)]() mutable {
                      connections_.reply(connection, server_.answer(std::move(request)));
                  });
              },
              max_body
          ) {
        // The library's own options let a second program take the same port; and its queue of
        // connections that nobody has accepted yet has room for five.
        server_.set_socket_options([this](socket_t socket) {
            const int yes = 1;
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            socket_ = socket;
        });
        server_.set_payload_max_length(max_body);
        const auto answer = [this](const httplib::Request& from, httplib::Response& to) {
            const http_response made = handler_(request_of(from));
            to.status = made.status;
            for (const auto& [name, value] : made.headers) to.set_header(name.c_str(), value);
            to.set_content(made.body, made.type.c_str());
        };
        server_.Get(".*", answer).Post(".*", answer).Options(".*", answer);
        server_.Put(".*", answer).Patch(".*", answer).Delete(".*", answer);
    }
    ~library_server() override {
        if (socket_ != INVALID_SOCKET) ::close(socket_);
    }

    int bind(const std::string& address, int port) override {
        if (port == 0) {
            port = std::max(server_.bind_to_any_port(address), 0);
        } else if (!server_.bind_to_port(address, port)) {
            port = 0;
        }
        if (port == 0) {
            socket_ = INVALID_SOCKET;  // the library has closed it
            return 0;
        }
        constexpr int backlog = 1024;
        const int flags = ::fcntl(socket_, F_GETFL);
        const bool is_ready = flags >= 0 && ::fcntl(socket_, F_SETFL, flags | O_NONBLOCK) == 0 &&
                              ::listen(socket_, backlog) == 0;
        return is_ready ? port : 0;
    }
    bool serve() override {
        constexpr std::size_t threads = 16;
        pool_.emplace(threads);
        const bool was_stopped = connections_.serve(socket_);
        pool_->shutdown();
        return was_stopped;
    }
    void stop() override { connections_.stop(); }

private:
    const http_handler handler_;
    request_server server_;
    socket_t socket_ = INVALID_SOCKET;
    http_connections connections_;
    std::optional<httplib::ThreadPool> pool_;
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
