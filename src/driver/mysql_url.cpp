#include "driver/mysql_url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw error{
        errc::invalid_argument,
        "the MySQL URL is malformed: " + why + "; write mysql://user@host:port/database"};
}

constexpr const char* encode_advice =
    "in user and password write %40 for @, %3A for a colon, %2F for / and %3F for a question mark";

bool is_one_of(char each, std::string_view others) {
    const bool is_letter = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
    return is_letter || (each >= '0' && each <= '9') || others.find(each) != std::string_view::npos;
}

int digit_of(char each) {
    if (each >= '0' && each <= '9') return each - '0';
    if (each >= 'a' && each <= 'f') return each - 'a' + 10;
    if (each >= 'A' && each <= 'F') return each - 'A' + 10;
    return -1;
}

std::string decode(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        char each = text[at];
        if (each == '%') {
            const int high = at + 2 < text.size() ? digit_of(text[at + 1]) : -1;
            const int low = at + 2 < text.size() ? digit_of(text[at + 2]) : -1;
            if (high < 0 || low < 0) refuse("a % is not followed by two hexadecimal digits");
            each = static_cast<char>(high * 16 + low);
            at += 2;
        }
        // The client library reads these as C strings and would silently stop here.
        if (each == '\0') refuse("it has a zero byte");
        plain += each;
    }
    return plain;
}

void read_user(std::string_view text, const char* fallback_password, address& into) {
    const auto colon = text.find(':');
    into.user = decode(text.substr(0, colon));
    if (into.user.empty()) refuse("it names no user");
    if (colon != std::string_view::npos) {
        into.password = decode(text.substr(colon + 1));
    } else if (fallback_password != nullptr) {
        into.password = fallback_password;
    }
}

void read_port(std::string_view text, address& into) {
    const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), into.port);
    const bool is_number = failure == std::errc{} && stop == text.data() + text.size();
    if (!is_number || into.port < 1 || into.port > 65535) {
        refuse(std::string{"its port is not a number from 1 to 65535; "} + encode_advice);
    }
}

void read_host(std::string_view text, address& into) {
    std::string_view rest;
    if (!text.empty() && text.front() == '[') {
        const auto end = text.find(']');
        if (end == std::string_view::npos) refuse("the bracket before its host is not closed");
        into.host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
        const auto fits = [](char each) { return is_one_of(each, ":.%"); };
        if (!std::all_of(into.host.begin(), into.host.end(), fits) ||
            into.host.find(':') == std::string::npos) {
            refuse("there is no IPv6 address in its brackets");
        }
    } else {
        const auto colon = text.find(':');
        into.host = text.substr(0, colon);
        if (colon != std::string_view::npos) rest = text.substr(colon);
        const auto fits = [](char each) { return is_one_of(each, "._-"); };
        if (!std::all_of(into.host.begin(), into.host.end(), fits)) {
            refuse(std::string{"its host has a character that no host has; "} + encode_advice);
        }
        if (rest.find(':', 1) != std::string_view::npos) {
            refuse(std::string{"an IPv6 address belongs in brackets; "} + encode_advice);
        }
    }
    if (into.host.empty()) refuse("it names no host");
    if (rest.empty()) return;
    if (rest.front() != ':') refuse("there is something between its host and its port");
    read_port(rest.substr(1), into);
}

tls_mode mode_of(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, tls_mode>, 5> words{{
        {"DISABLED", tls_mode::disabled},
        {"PREFERRED", tls_mode::preferred},
        {"REQUIRED", tls_mode::required},
        {"VERIFY_CA", tls_mode::verify_authority},
        {"VERIFY_IDENTITY", tls_mode::verify_identity},
    }};
    const auto is_same = [word](const auto& each) { return each.first == word; };
    const auto found = std::find_if(words.begin(), words.end(), is_same);
    if (found == words.end()) {
        refuse("ssl-mode is none of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY");
    }
    return found->second;
}

// A name that looks like an option's may be repeated; anything else might be part of a password.
std::string name_to_show(std::string_view name) {
    const auto fits = [](char each) { return is_one_of(each, "-_"); };
    const bool is_plain =
        !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), fits);
    return is_plain ? "option " + std::string{name} : std::string{"an option"};
}

void read_options(std::string_view text, address& into) {
    std::optional<tls_mode> mode;
    std::string* const unset = nullptr;
    while (!text.empty()) {
        const std::string_view option = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(text.size(), option.size() + 1));
        const auto equals = option.find('=');
        const std::string_view name = option.substr(0, equals);
        const std::string content =
            equals == std::string_view::npos ? "" : decode(option.substr(equals + 1));
        std::string* file = unset;
        if (name == "ssl-ca") file = &into.authority_file;
        if (name == "ssl-cert") file = &into.certificate_file;
        if (name == "ssl-key") file = &into.key_file;
        if (file == unset && name != "ssl-mode") {
            refuse(
                name_to_show(name) + " is not known (there are ssl-mode, ssl-ca, ssl-cert, ssl-key)"
            );
        }
        if (content.empty()) refuse(name_to_show(name) + " has no value");
        if (file == unset ? mode.has_value() : !file->empty()) {
            refuse(name_to_show(name) + " is there twice");
        }
        if (file == unset) {
            mode = mode_of(content);
        } else {
            *file = content;
        }
    }
    into.tls = mode.value_or(tls_mode::preferred);
    if (into.certificate_file.empty() != into.key_file.empty()) {
        refuse("ssl-cert and ssl-key need each other");
    }
    const bool has_file = !into.authority_file.empty() || !into.certificate_file.empty();
    if (has_file && into.tls == tls_mode::disabled) {
        refuse("ssl-mode=DISABLED contradicts ssl-ca, ssl-cert and ssl-key");
    }
}

}  // namespace

address parse_url(std::string_view url, const char* fallback_password) {
    const bool is_known = url.starts_with("mysql://") || url.starts_with("mariadb://");
    if (!is_known) refuse("it does not begin with mysql:// or mariadb://");
    if (url.find('\0') != std::string_view::npos) refuse("it has a zero byte");
    std::string_view rest = url.substr(url.find("//") + 2);
    std::string_view options;
    if (const auto question = rest.find('?'); question != std::string_view::npos) {
        options = rest.substr(question + 1);
        rest = rest.substr(0, question);
    }
    const auto slash = rest.find('/');
    const std::string_view authority = rest.substr(0, slash);
    const auto sign = authority.find('@');
    if (sign == std::string_view::npos) refuse(std::string{"it names no user; "} + encode_advice);
    if (rest.find('@', sign + 1) != std::string_view::npos) refuse(encode_advice);

    address found;
    read_user(authority.substr(0, sign), fallback_password, found);
    read_host(authority.substr(sign + 1), found);
    if (slash != std::string_view::npos) found.database = decode(rest.substr(slash + 1));
    if (found.database.empty()) refuse("it names no database");
    if (found.database.find('/') != std::string::npos) refuse("a database's name has no /");
    read_options(options, found);
    return found;
}

std::string place_of(const address& where) {
    const bool is_bracketed = where.host.find(':') != std::string::npos;
    const std::string host = is_bracketed ? "[" + where.host + "]" : where.host;
    return host + ":" + std::to_string(where.port);
}

}  // namespace leasehold::mysql
