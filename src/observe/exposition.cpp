#include "observe/exposition.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace leasehold {
namespace {

std::string escaped(std::string_view value) {
    std::string text;
    for (const char each : valid_utf8(value)) {
        if (each == '\n') {
            text += "\\n";
            continue;
        }
        if (each == '\\' || each == '"') text += '\\';
        text += each;
    }
    return text;
}

}  // namespace

void exposition::begin(std::string_view family, std::string_view type, std::string_view help) {
    family_ = family;
    text_ += "# HELP " + family_ + ' ' + std::string{help} + '\n';
    text_ += "# TYPE " + family_ + ' ' + std::string{type} + '\n';
}

void exposition::add(std::string_view suffix, const sample_labels& labels, std::string_view value) {
    text_ += family_;
    text_ += suffix;
    const char* before = "{";
    for (const auto& [name, given] : labels) {
        text_ += before;
        text_ += name;
        text_ += "=\"" + escaped(given) + '"';
        before = ",";
    }
    if (!labels.empty()) text_ += '}';
    text_ += ' ';
    text_ += value;
    text_ += '\n';
}

bool is_label_name(std::string_view name) noexcept {
    const auto is_letter = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_';
    };
    const auto may_follow = [&](char each) {
        return is_letter(each) || (each >= '0' && each <= '9');
    };
    if (name.empty() || !is_letter(name.front()) || name.starts_with("__")) return false;
    return std::all_of(name.begin(), name.end(), may_follow);
}

}  // namespace leasehold
