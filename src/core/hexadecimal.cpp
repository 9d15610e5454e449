#include "core/hexadecimal.hpp"

namespace leasehold {

std::string in_hexadecimal(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char each : bytes) {
        const auto number = static_cast<unsigned char>(each);
        text += digits[number / 16U];
        text += digits[number % 16U];
    }
    return text;
}

}  // namespace leasehold
