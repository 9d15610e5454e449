#include "driver/postgres_url.hpp"

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "core/number_in.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw error{errc::invalid_argument, "the PostgreSQL URL is malformed: " + why};
}

// libpq ends the user's part at the first `@`. If a password has a `@` or `/` in it, libpq takes
// what follows for hosts, ports and databases, which would then turn up in messages.
void require_encoded_password(std::string_view url) {
    const auto scheme = url.find("://");
    if (scheme == std::string_view::npos || url.find('=') < scheme) return;  // key=value
    std::string_view rest = url.substr(scheme + 3);
    const auto end = rest.find_first_of("@/");
    if (end != std::string_view::npos && rest[end] == '@') rest.remove_prefix(end + 1);
    rest = rest.substr(0, rest.find('?'));
    if (rest.find('@') != std::string_view::npos) {
        refuse("in user and password write %40 for @, %2F for / and %3A for a colon");
    }
}

// Requires a port for each host; an empty one is libpq's default.
void require_ports(std::string_view ports) {
    for (std::size_t first = 0; first <= ports.size();) {
        const std::string_view port = ports.substr(first, ports.find(',', first) - first);
        first += port.size() + 1;
        const int number = number_in<int>(port).value_or(0);
        if (port.empty() || (number >= 1 && number <= 65535)) continue;
        refuse(
            "its port is not a number from 1 to 65535; in user and password write %40 for @, %2F "
            "for /, %3A for a colon"
        );
    }
}

}  // namespace

void require_valid_url(std::string_view url) {
    if (url.find('\0') != std::string_view::npos) refuse("it has a zero byte");
    const std::string text{url};
    const bool is_url = text.find("://") != std::string::npos;
    if (!is_url && text.find('=') == std::string::npos) {
        refuse("write postgresql://user@host:port/database, or key=value pairs");
    }
    require_encoded_password(url);
    char* libpq_words = nullptr;  // quote the URL: not for our message
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options{
        PQconninfoParse(text.c_str(), &libpq_words), &PQconninfoFree};
    PQfreemem(libpq_words);
    if (options == nullptr) {
        refuse("libpq cannot read it; see \"Connection Strings\" in PostgreSQL's manual");
    }
    for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each) {
        if (std::string_view{each->keyword} == "port" && each->val != nullptr) {
            require_ports(each->val);
        }
    }
}

}  // namespace leasehold::postgres
