#include "cli/arguments.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace leasehold::cli {
namespace {

constexpr std::string_view separator = "--";

bool takes_value(std::string_view option) {
    constexpr std::array<std::string_view, 5> with_value{
        "--url", "--url-file", "--table-prefix", "--schema", "--bell-address"};
    return std::find(with_value.begin(), with_value.end(), option) != with_value.end();
}

// Elsewhere `--` has its usual meaning: no option follows.
bool has_command(const std::vector<std::string>& all) {
    for (std::size_t at = 0; at < all.size(); ++at) {
        if (takes_value(all[at])) {
            ++at;
        } else if (!all[at].starts_with('-')) {
            return runs_command(all[at]);
        }
    }
    return false;
}

// The end of the value that begins at `from`: an option in a URL, or a setting of libpq's, which
// may be in quotes, where a backslash takes the next character literally.
std::size_t end_of_value(std::string_view text, std::size_t from, const char* ends) {
    if (from < text.size() && text[from] == '\'') {
        for (std::size_t at = from + 1; at < text.size(); ++at) {
            if (text[at] == '\'') return at + 1;
            if (text[at] == '\\') ++at;
        }
        return text.size();
    }
    const bool is_in_url = text.substr(0, from).rfind("://") != std::string_view::npos;
    const auto end = std::min(text.find_first_of(ends, from), text.size());
    return is_in_url ? std::min(text.find('&', from), end) : end;
}

// Calls `hide(from, to)` for each password in `text`. A URL may be malformed, so it rather hides
// too much: everything in `scheme://user:password@host` from the first colon to the last `@` before
// one of `ends`, and the whole value of each option with "password" in its name.
template <class Hide>
void find_passwords(std::string_view text, const char* ends, Hide hide) {
    for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
        const auto end = std::min(text.find_first_of(ends, at), text.size());
        const auto colon = text.substr(0, end).find(':', at + 3);
        const auto sign = text.substr(0, end).rfind('@');
        if (colon == std::string_view::npos || sign == std::string_view::npos) continue;
        if (colon < sign) hide(colon + 1, sign);
    }
    constexpr std::string_view name = "password";
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const auto equals = text.find_first_not_of(' ', at + name.size());
        if (equals == std::string_view::npos || text[equals] != '=') continue;
        const auto from = std::min(text.find_first_not_of(' ', equals + 1), text.size());
        hide(from, end_of_value(text, from, ends));
    }
}

std::string hidden(std::string_view text, const char* ends) {
    std::string shown{text};
    find_passwords(text, ends, [&](std::size_t from, std::size_t to) {
        std::fill_n(shown.begin() + static_cast<std::ptrdiff_t>(from), to - from, 'x');
    });
    return shown;
}

}  // namespace

bool runs_command(std::string_view name) {
    constexpr std::array<std::string_view, 4> names{"lock", "elect", "once", "work"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string without_passwords(std::string_view text) {
    return hidden(text, " \t\n'\"");
}

arguments take_arguments(int count, char** values) {
    arguments taken;
    for (int at = 1; at < count; ++at) taken.own.emplace_back(values[at]);
    if (has_command(taken.own)) {
        const auto cut = std::find(taken.own.begin(), taken.own.end(), separator);
        taken.has_separator = cut != taken.own.end();
        if (taken.has_separator) taken.command.assign(cut + 1, taken.own.end());
        taken.own.erase(cut, taken.own.end());
    }
    // The words behind `--` belong to the command, which shows them to `ps` anyway.
    for (std::size_t at = 0; at < taken.own.size(); ++at) {
        const std::string shown = hidden(taken.own[at], "");  // one argument, whatever is in it
        std::memcpy(values[at + 1], shown.data(), shown.size());
    }
    taken.is_json = std::find(taken.own.begin(), taken.own.end(), "--json") != taken.own.end();
    return taken;
}

}  // namespace leasehold::cli
