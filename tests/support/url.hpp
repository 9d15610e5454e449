#pragma once
// A server's URL with another database, user or option in it.
#include <stdexcept>
#include <string>

namespace leasehold::testing {

// scheme://user:password@host:port/database?options
inline std::string with_database(const std::string& url, const std::string& name) {
    const auto host = url.find("://") + 3;
    const auto first = url.find('/', host);
    if (first == std::string::npos) throw std::invalid_argument("a URL without a database");
    const auto end = url.find('?', first);
    const std::string options = end == std::string::npos ? "" : url.substr(end);
    return url.substr(0, first + 1) + name + options;
}

inline std::string with_user(
    const std::string& url, const std::string& name, const std::string& password
) {
    const auto first = url.find("://") + 3;
    const auto end = url.find('@', first);
    if (end == std::string::npos) throw std::invalid_argument("a URL without a user");
    return url.substr(0, first) + name + ":" + password + url.substr(end);
}

inline std::string user_of(const std::string& url) {
    const auto first = url.find("://") + 3;
    return url.substr(first, url.find_first_of(":@/", first) - first);
}

inline std::string with_port(const std::string& url, int port) {
    const auto first = url.rfind(':', url.find('/', url.find("://") + 3)) + 1;
    return url.substr(0, first) + std::to_string(port) + url.substr(url.find('/', first));
}

// Percent-encoded already.
inline std::string with_option(const std::string& url, const std::string& option) {
    return url + (url.find('?') == std::string::npos ? "?" : "&") + option;
}

}  // namespace leasehold::testing
