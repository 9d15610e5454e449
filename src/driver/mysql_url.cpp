#include "driver/mysql_url.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/hexadecimal.hpp"
#include "core/number_in.hpp"
#include "driver/mysql_option_file.hpp"
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

std::string decode(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        char each = text[at];
        if (each == '%') {
            const int high = at + 2 < text.size() ? hexadecimal_value(text[at + 1]) : -1;
            const int low = at + 2 < text.size() ? hexadecimal_value(text[at + 2]) : -1;
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

// The address as the URL and then its option file give it. The option file does not change a part
// that the URL gives.
struct draft {
    address known;
    std::optional<std::string> password;
    std::optional<tls_mode> tls;
    std::string option_file;
    std::vector<std::pair<std::string, int>> others{};  // host and port, 0: not given
    int default_port = 3306;
};

void read_user(std::string_view text, draft& into) {
    const auto colon = text.find(':');
    into.known.user = decode(text.substr(0, colon));
    if (into.known.user.empty()) refuse("it names no user");
    if (colon != std::string_view::npos) into.password = decode(text.substr(colon + 1));
}

// The port; 0 if the text is no port.
int port_of(std::string_view text) {
    const int port = number_in<int>(text).value_or(0);
    return port >= 1 && port <= 65535 ? port : 0;
}

void read_host(std::string_view text, address& into) {
    std::string_view rest;
    if (!text.empty() && text.front() == '[') {
        const auto end = text.find(']');
        if (end == std::string_view::npos) refuse("the bracket before its host is not closed");
        into.host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
        const auto fits = [](char each) { return is_one_of(each, ":.%"); };
        if (!std::ranges::all_of(into.host, fits) || into.host.find(':') == std::string::npos) {
            refuse("there is no IPv6 address in its brackets");
        }
    } else {
        const auto colon = text.find(':');
        into.host = text.substr(0, colon);
        if (colon != std::string_view::npos) rest = text.substr(colon);
        const auto fits = [](char each) { return is_one_of(each, "._-"); };
        if (!std::ranges::all_of(into.host, fits)) {
            refuse(std::string{"its host has a character that no host has; "} + encode_advice);
        }
        if (rest.find(':', 1) != std::string_view::npos) {
            refuse(std::string{"an IPv6 address belongs in brackets; "} + encode_advice);
        }
    }
    if (rest.empty()) return;
    if (rest.front() != ':') refuse("there is something between its host and its port");
    into.port = port_of(rest.substr(1));
    if (into.port == 0) {
        refuse(std::string{"its port is not a number from 1 to 65535; "} + encode_advice);
    }
}

// Reads the first host, and those that are tried after it.
void read_hosts(std::string_view text, draft& into) {
    const bool is_list = text.find(',') != std::string_view::npos;
    for (bool is_first = true;; is_first = false) {
        const std::string_view each = text.substr(0, text.find(','));
        address found;
        read_host(each, found);
        if (is_list && found.host.empty()) {
            refuse("one of its hosts, between the commas, has no name");
        }
        if (is_first) {
            into.known.host = found.host;
            into.known.port = found.port;
        } else {
            into.others.emplace_back(found.host, found.port);
        }
        if (each.size() == text.size()) return;
        text.remove_prefix(each.size() + 1);
    }
}

std::optional<tls_mode> mode_of(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, tls_mode>, 5> words{{
        {"DISABLED", tls_mode::disabled},
        {"PREFERRED", tls_mode::preferred},
        {"REQUIRED", tls_mode::required},
        {"VERIFY_CA", tls_mode::verify_authority},
        {"VERIFY_IDENTITY", tls_mode::verify_identity},
    }};
    const auto is_same = [word](const auto& each) { return each.first == word; };
    const auto* const found = std::ranges::find_if(words, is_same);
    return found == words.end() ? std::nullopt : std::optional{found->second};
}

constexpr const char* modes_advice =
    "ssl-mode is none of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY";

// A name that looks like an option's may be repeated; anything else might be part of a password.
std::string name_to_show(std::string_view name) {
    const auto fits = [](char each) { return is_one_of(each, "-_"); };
    const bool is_plain = !name.empty() && name.size() <= 40 && std::ranges::all_of(name, fits);
    return is_plain ? "option " + std::string{name} : std::string{"an option"};
}

// The member for an option's text; null if it has none.
std::string* place_for(std::string_view name, draft& into) {
    if (name == "ssl-ca") return &into.known.authority_file;
    if (name == "ssl-cert") return &into.known.certificate_file;
    if (name == "ssl-key") return &into.known.key_file;
    if (name == "socket") return &into.known.socket;
    return nullptr;
}

void read_options(std::string_view text, draft& into) {
    while (!text.empty()) {
        const std::string_view option = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(text.size(), option.size() + 1));
        const auto equals = option.find('=');
        const std::string_view name = option.substr(0, equals);
        const std::string content =
            equals == std::string_view::npos ? "" : decode(option.substr(equals + 1));
        std::string* const place =
            name == "defaults_file" ? &into.option_file : place_for(name, into);
        if (!place && name != "ssl-mode") {
            refuse(
                name_to_show(name) +
                " is not known (there are ssl-mode, ssl-ca, ssl-cert, "
                "ssl-key, socket, defaults_file)"
            );
        }
        if (content.empty()) refuse(name_to_show(name) + " has no value");
        if (place ? !place->empty() : into.tls.has_value()) {
            refuse(name_to_show(name) + " is there twice");
        }
        if (place) {
            *place = content;
            continue;
        }
        into.tls = mode_of(content);
        if (!into.tls) refuse(modes_advice);
    }
}

[[noreturn]] void refuse_file(const draft& of, const std::string& why) {
    throw error{errc::invalid_argument, "in the MySQL option file " + of.option_file + " " + why};
}

// The ways in which an option file asks for TLS, and the mode of ours for each. nullopt: the option
// is about something else.
std::optional<tls_mode> asked_by_file(
    const draft& of, std::string_view name, std::string_view value
) {
    const bool is_on = value.empty() || value == "1" || value == "ON" || value == "TRUE" ||
                       value == "on" || value == "true";
    if (name == "ssl-mode") {
        const auto mode = mode_of(value);
        if (!mode) refuse_file(of, modes_advice);
        return mode;
    }
    if (name == "ssl-verify-server-cert" && is_on) return tls_mode::verify_identity;
    if (name == "ssl" && is_on) return tls_mode::required;
    if (name == "skip-ssl" || name == "disable-ssl" || (name == "ssl" && !is_on)) {
        return tls_mode::disabled;
    }
    const bool is_of_tls = name.starts_with("ssl-") || name.starts_with("tls-");
    if (is_of_tls && name != "ssl-verify-server-cert") {
        refuse_file(of, "option " + std::string{name} + " is one that leasehold does not know");
    }
    return std::nullopt;
}

// If several lines ask for TLS the strictest counts, as it does for MySQL's clients.
void read_file(draft& into) {
    draft file;
    for (auto& [name, value] : read_option_file(into.option_file)) {
        if (name == "user") {
            file.known.user = value;
        } else if (name == "password") {
            file.password = value;
        } else if (name == "host") {
            file.known.host = value;
        } else if (name == "database") {
            file.known.database = value;
        } else if (name == "port") {
            file.known.port = port_of(value);
            if (file.known.port == 0) refuse_file(into, "port is not a number from 1 to 65535");
        } else if (std::string* const place = place_for(name, file)) {
            *place = value;
        } else if (const auto mode = asked_by_file(into, name, value)) {
            file.tls = file.tls ? std::max(*file.tls, *mode) : *mode;
        }
    }
    const auto fill = [](std::string& place, std::string& from) {
        if (place.empty()) place = std::move(from);
    };
    // If the URL names a host or a socket, the file supplies neither.
    const bool says_where = !into.known.host.empty() || !into.known.socket.empty();
    if (!says_where) {
        into.known.host = std::move(file.known.host);
        into.known.socket = std::move(file.known.socket);
    }
    if (file.known.port != 0) into.default_port = file.known.port;
    fill(into.known.user, file.known.user);
    fill(into.known.database, file.known.database);
    fill(into.known.authority_file, file.known.authority_file);
    if (into.known.certificate_file.empty() && into.known.key_file.empty()) {
        into.known.certificate_file = std::move(file.known.certificate_file);
        into.known.key_file = std::move(file.known.key_file);
    }
    if (!into.password) into.password = std::move(file.password);
    if (!into.tls) into.tls = file.tls;
}

// MySQL's clients call their socket "localhost".
void choose_way(draft& from) {
    address& to = from.known;
    if (to.socket.empty()) {
        if (to.host.empty()) refuse("it names no host");
        if (to.port == 0) to.port = from.default_port;
        return;
    }
    if (to.socket.front() != '/') refuse("its socket is no path that begins with /");
    const bool is_local = to.host.empty() || to.host == "localhost";
    if (!is_local || to.port != 0 || !from.others.empty())
        refuse("it names a host or port and a socket: leave one out");
    to.host.clear();
}

// TLS protects a network; on a socket nobody else listens, and a name cannot be verified.
void choose_tls(const draft& from, address& to) {
    const bool has_socket = !to.socket.empty();
    to.tls = from.tls.value_or(has_socket ? tls_mode::disabled : tls_mode::preferred);
    if (to.certificate_file.empty() != to.key_file.empty()) {
        refuse("ssl-cert and ssl-key need each other");
    }
    const bool has_file = !to.authority_file.empty() || !to.certificate_file.empty();
    if (has_file && from.tls == tls_mode::disabled) {
        refuse("ssl-mode=DISABLED contradicts ssl-ca, ssl-cert and ssl-key");
    }
    if (has_socket && to.tls == tls_mode::verify_identity) {
        refuse("ssl-mode=VERIFY_IDENTITY needs a host's name, and it names a socket");
    }
}

}  // namespace

std::vector<address> parse_url(std::string_view url, const char* fallback_password) {
    const bool is_known = url.starts_with("mysql://") || url.starts_with("mariadb://");
    if (!is_known) refuse("it does not begin with mysql:// or mariadb://");
    if (url.find('\0') != std::string_view::npos) refuse("it has a zero byte");
    std::string_view rest = url.substr(url.find("//") + 2);
    draft found;
    std::string_view options;
    if (const auto question = rest.find('?'); question != std::string_view::npos) {
        options = rest.substr(question + 1);
        rest = rest.substr(0, question);
    }
    const auto slash = rest.find('/');
    const std::string_view authority = rest.substr(0, slash);
    const auto sign = authority.find('@');
    const bool has_user = sign != std::string_view::npos;
    if (rest.find('@', has_user ? sign + 1 : 0) != std::string_view::npos) refuse(encode_advice);
    if (has_user) read_user(authority.substr(0, sign), found);
    read_hosts(has_user ? authority.substr(sign + 1) : authority, found);
    if (slash != std::string_view::npos) found.known.database = decode(rest.substr(slash + 1));
    read_options(options, found);
    if (!found.option_file.empty()) read_file(found);
    address& to = found.known;
    if (to.user.empty()) refuse(std::string{"it names no user; "} + encode_advice);
    choose_way(found);
    if (to.database.empty()) refuse("it names no database");
    if (to.database.find('/') != std::string::npos) refuse("a database's name has no /");
    choose_tls(found, to);
    to.password = found.password.value_or(fallback_password ? fallback_password : "");
    std::vector<address> all{to};
    for (const auto& [host, port] : found.others) {
        all.push_back(to);
        all.back().host = host;
        all.back().port = port != 0 ? port : found.default_port;
    }
    return all;
}

std::string place_of(const address& where) {
    if (!where.socket.empty()) return where.socket;
    const bool is_bracketed = where.host.find(':') != std::string::npos;
    const std::string host = is_bracketed ? "[" + where.host + "]" : where.host;
    return host + ":" + std::to_string(where.port);
}

}  // namespace leasehold::mysql
