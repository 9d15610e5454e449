#pragma once
// The source of a URL that may change while programs run: a file, or a store of secrets, in which
// somebody has put a new password.
//
//   leasehold::database db = leasehold::open([] { return read_secret("database-url"); });
//
// It is called when the database is opened, and again before each new connection. Connections that
// exist stay as they are. The engine stays the same: a URL of another one is refused when somebody
// connects.
//
// Threads: called from any thread, by several at once. The caller that wanted a connection gets the
// exception.
#include <concepts>
#include <string>
#include <string_view>

#include "leasehold/callable.hpp"
#include "leasehold/export.hpp"  // it asks for C++20

namespace leasehold {

using url_source = callable<std::string()>;

// A parameter that is the text of a URL. A null pointer, as std::getenv() returns for a variable
// that is not set, throws invalid_argument.
class LEASEHOLD_EXPORT url_text {
public:
    url_text(const char* url);
    template <std::convertible_to<std::string_view> Text>
    requires(!std::convertible_to<const Text&, const char*>) url_text(const Text& url)
        : url_(url) {}
    operator std::string_view() const noexcept { return url_; }

private:
    std::string_view url_;
};

}  // namespace leasehold
