#include "core/json_text.hpp"

#include "core/utf8.hpp"

namespace leasehold {

std::string json_string(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "\"";
    for (const char each : valid_utf8(bytes)) {
        const auto code = static_cast<unsigned char>(each);
        if (each == '"' || each == '\\') {
            text += '\\';
            text += each;
        } else if (each == '\n') {
            text += "\\n";
        } else if (each == '\t') {
            text += "\\t";
        } else if (code < 0x20 || code == 0x7f) {
            text += "\\u00";
            text += digits[code >> 4];
            text += digits[code & 15];
        } else {
            text += each;
        }
    }
    return text + '"';
}

}  // namespace leasehold
