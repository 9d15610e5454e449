#include "driver/postgres_server.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include "driver/postgres_errors.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres {
namespace {

bool starts_with_word(std::string_view text, std::string_view lower_word) noexcept {
    if (text.size() < lower_word.size()) return false;
    for (std::size_t at = 0; at < lower_word.size(); ++at) {
        if (std::tolower(static_cast<unsigned char>(text[at])) != lower_word[at]) return false;
    }
    return text.size() == lower_word.size() ||
           std::isalnum(static_cast<unsigned char>(text[lower_word.size()])) == 0;
}

// The text without the white space and comments before its first word.
std::string_view without_leading_blank(std::string_view text) noexcept {
    for (;;) {
        const auto first = text.find_first_not_of(" \t\r\n\f\v");
        if (first == std::string_view::npos) return {};
        text.remove_prefix(first);
        std::string_view end_of_comment;
        if (text.substr(0, 2) == "--") end_of_comment = "\n";
        if (text.substr(0, 2) == "/*") end_of_comment = "*/";
        if (end_of_comment.empty()) return text;
        const auto end = text.find(end_of_comment, 2);
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + end_of_comment.size());
    }
}

}  // namespace

server_info server_of(const PGconn* handle) {
    server_info server;
    server.engine = engine::postgres;
    // libpq says 150020 for 15.20; its older three-part form is refused below anyway.
    const int number = PQserverVersion(handle);
    server.version = number / 10000 * 10000 + number % 10000 * 100;
    if (const char* text = PQparameterStatus(handle, "server_version"); text != nullptr) {
        server.version_text = text;
    }
    if (number != 0 && number < 130000) {
        throw error{
            errc::unsupported,
            address_of(handle) + " is version " + server.version_text +
                "; leasehold needs PostgreSQL 13 or newer"};
    }
    return server;
}

std::chrono::milliseconds limit_within_range(std::chrono::milliseconds limit) noexcept {
    using std::chrono::milliseconds;
    return std::clamp(
        limit, milliseconds{1}, milliseconds{2'000'000'000}
    );  // of 2^31 at the server
}

std::chrono::milliseconds head_start(std::chrono::milliseconds limit) noexcept {
    return std::min(limit / 10, std::chrono::milliseconds{500});
}
std::string server_bound(std::chrono::milliseconds limit) {
    const std::chrono::milliseconds bound = limit - head_start(limit);
    return std::to_string(limit_within_range(bound).count());
}

bool may_commit(std::string_view sql) noexcept {
    for (;;) {
        sql = without_leading_blank(sql);
        for (const std::string_view verb : {"commit", "end", "prepare"}) {
            if (starts_with_word(sql, verb)) return true;
        }
        const auto end = sql.find(';');
        if (end == std::string_view::npos) return false;
        sql.remove_prefix(end + 1);
    }
}

}  // namespace leasehold::postgres
