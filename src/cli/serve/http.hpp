#pragma once
// The interface to the library for HTTP, which `serve` alone loads: that library needs others for
// encryption and compression, and no other command should have to load those.
//
// Threads: a handler is called from several at once; stop() may be called from any.
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::cli {

// For names of headers and hosts, which are the same in capital letters.
inline std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char each) {
        return static_cast<char>(std::tolower(each));
    });
    return text;
}

struct http_request {
    std::string method{};
    std::string path{};
    std::map<std::string, std::string> query{};
    std::map<std::string, std::string> form{};     // from the body of a POST, url-encoded
    std::map<std::string, std::string> headers{};  // names in lower case; of several the first

    // Empty if there is none.
    std::string header(const std::string& name) const { return found_in(headers, name); }
    std::string parameter(const std::string& name) const { return found_in(query, name); }
    std::string field(const std::string& name) const { return found_in(form, name); }

private:
    static std::string found_in(
        const std::map<std::string, std::string>& all, const std::string& name
    ) {
        const auto found = all.find(name);
        return found == all.end() ? std::string{} : found->second;
    }
};

struct http_response {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body{};
    std::vector<std::pair<std::string, std::string>> headers{};
};

using http_handler = std::function<http_response(const http_request&)>;

class http_server {
public:
    virtual ~http_server() = default;
    // Binds the port, or any free one for 0. Answers with the port; 0 if it could bind none.
    virtual int bind(const std::string& address, int port) = 0;
    // Serves until it is stopped. False if it could not go on.
    virtual bool serve() = 0;
    virtual void stop() = 0;
};

using http_maker = std::unique_ptr<http_server> (*)(http_handler handler);

// Throws if this build has none, or the library behind it is missing.
std::unique_ptr<http_server> make_http_server(http_handler handler);

}  // namespace leasehold::cli
