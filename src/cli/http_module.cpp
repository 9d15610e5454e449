// cpp-httplib behind http.hpp, in a module of its own: the only file that includes it.
#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "cli/http.hpp"
#include "leasehold/export.hpp"

namespace leasehold::cli {
namespace {

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
    // The library puts what a form has beside what the address has.
    auto& parameters = from.method == "POST" ? request.form : request.query;
    for (const auto& [name, value] : from.params) parameters.emplace(name, value);
    for (const auto& [name, value] : from.headers) {
        request.headers.emplace(lower_case(name), value);
    }
    return request;
}

class library_server final : public http_server {
public:
    explicit library_server(http_handler handler) : handler_(std::move(handler)) {
        // A browser that keeps its connection open keeps a thread.
        constexpr std::size_t threads = 16;
        server_.new_task_queue = [] { return new httplib::ThreadPool(threads); };
        server_.set_keep_alive_max_count(1);
        server_.set_read_timeout(2);
        server_.set_write_timeout(5);
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
    httplib::Server server_;
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
