#include "core/utf8.hpp"

#include <algorithm>

namespace leasehold {
namespace {

// Length of the character that begins `bytes`, or 0 if none does.
std::size_t character_size(std::string_view bytes) noexcept {
    const auto at = [&](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
    const auto continues = [&](std::size_t index, unsigned lowest, unsigned highest) {
        return index < bytes.size() && at(index) >= lowest && at(index) <= highest;
    };
    const unsigned first = at(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return continues(1, 0x80, 0xbf) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned lowest = first == 0xe0 ? 0xa0 : 0x80;   // no overlong forms
        const unsigned highest = first == 0xed ? 0x9f : 0xbf;  // no surrogates
        return continues(1, lowest, highest) && continues(2, 0x80, 0xbf) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned lowest = first == 0xf0 ? 0x90 : 0x80;
        const unsigned highest = first == 0xf4 ? 0x8f : 0xbf;  // at most U+10FFFF
        const bool rest = continues(2, 0x80, 0xbf) && continues(3, 0x80, 0xbf);
        return continues(1, lowest, highest) && rest ? 4 : 0;
    }
    return 0;
}

}  // namespace

bool is_utf8(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const std::size_t size = character_size(bytes);
        if (size == 0) return false;
        bytes.remove_prefix(size);
    }
    return true;
}

std::string_view cut_utf8(std::string_view text, std::size_t max_bytes) noexcept {
    std::size_t kept = 0;
    while (kept < text.size()) {
        const std::size_t size = character_size(text.substr(kept));
        if (size == 0 || kept + size > max_bytes) break;
        kept += size;
    }
    return text.substr(0, kept);
}

std::string printable_utf8(std::string_view bytes) {
    std::string shown;
    while (!bytes.empty()) {
        const std::size_t size = character_size(bytes);
        const auto first = static_cast<unsigned char>(bytes[0]);
        const bool is_control = size == 1 && (first < 0x20 || first == 0x7f);
        if (size == 0 || is_control) {
            shown += '?';
            bytes.remove_prefix(1);
        } else {
            shown += bytes.substr(0, size);
            bytes.remove_prefix(size);
        }
    }
    return shown;
}

std::string printable_lines(std::string_view bytes) {
    std::string shown;
    for (std::size_t at = 0; at <= bytes.size();) {
        const auto end = std::min(bytes.find('\n', at), bytes.size());
        if (at > 0) shown += '\n';
        shown += printable_utf8(bytes.substr(at, end - at));
        at = end + 1;
    }
    return shown;
}

std::string valid_utf8(std::string_view bytes) {
    constexpr std::string_view replacement = "\xef\xbf\xbd";
    std::string valid;
    valid.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t size = character_size(bytes);
        valid += size == 0 ? replacement : bytes.substr(0, size);
        bytes.remove_prefix(size == 0 ? 1 : size);
    }
    return valid;
}

}  // namespace leasehold
