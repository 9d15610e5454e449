#include "driver/mysql_option_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw error{errc::invalid_argument, "the MySQL option file " + path + " " + why};
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The text without a comment that begins within the line; one in quotes is none.
std::string_view without_comment(std::string_view text) {
    char quote = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char each = text[at];
        const bool is_escaped = at > 0 && text[at - 1] == '\\';
        if ((each == '\'' || each == '"') && !is_escaped && (quote == 0 || quote == each)) {
            quote = quote == 0 ? each : '\0';
        }
        if (each == '#' && quote == 0) return trimmed(text.substr(0, at));
    }
    return text;
}

std::string unescaped(std::string_view text) {
    constexpr std::string_view letters = "btnrs\\'\"", meant = "\b\t\n\r \\'\"";
    const bool is_quoted = text.size() > 1 && (text.front() == '\'' || text.front() == '"') &&
                           text.back() == text.front();
    if (is_quoted) text = text.substr(1, text.size() - 2);
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool may_escape = text[at] == '\\' && at + 1 < text.size();
        const auto letter = may_escape ? letters.find(text[at + 1]) : std::string_view::npos;
        if (letter == std::string_view::npos) {
            plain += text[at];
        } else {
            plain += meant[letter];
            ++at;
        }
    }
    return plain;
}

void require_trustworthy(const std::string& path) {
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) {
        refuse(path, std::string{"cannot be read: "} + std::strerror(errno));
    }
    if (!S_ISREG(found.st_mode)) refuse(path, "is no file");
    if ((found.st_mode & S_IWOTH) != 0) {
        refuse(path, "may be written by everybody: take that right away (chmod o-w)");
    }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_option_file(const std::string& path) {
    require_trustworthy(path);
    std::ifstream file{path};
    if (!file) refuse(path, std::string{"cannot be read: "} + std::strerror(errno));
    std::vector<std::pair<std::string, std::string>> found;
    bool is_for_us = false;
    int number = 0;
    for (std::string whole; std::getline(file, whole);) {
        ++number;
        const std::string_view line = trimmed(whole);
        if (line.empty() || line.front() == '#' || line.front() == ';') continue;
        if (line.front() == '!') {
            refuse(path, "includes others, which is not followed: name the one that counts");
        }
        if (line.front() == '[') {
            const auto end = line.find(']');
            if (end == std::string_view::npos) {
                refuse(path, "is malformed: no ] in line " + std::to_string(number));
            }
            const std::string_view group = trimmed(line.substr(1, end - 1));
            is_for_us = group == "client" || group == "leasehold";
            continue;
        }
        if (!is_for_us) continue;
        const std::string_view option = without_comment(line);
        const auto equals = option.find('=');
        std::string name{trimmed(option.substr(0, equals))};
        std::replace(name.begin(), name.end(), '_', '-');
        // The prefix of an option that some programs do not know.
        if (constexpr std::string_view loose = "loose-"; name.starts_with(loose)) {
            name.erase(0, loose.size());
        }
        const bool has_value = equals != std::string_view::npos;
        found.emplace_back(
            std::move(name), has_value ? unescaped(trimmed(option.substr(equals + 1))) : ""
        );
    }
    return found;
}

}  // namespace leasehold::mysql
