#include "core/json_text.hpp"

#include "core/hexadecimal.hpp"
#include "core/utf8.hpp"

namespace leasehold {

std::string json_string(std::string_view bytes) {
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
            text += "\\u00" + in_hexadecimal({&each, 1});
        } else {
            text += each;
        }
    }
    return text + '"';
}

}  // namespace leasehold
