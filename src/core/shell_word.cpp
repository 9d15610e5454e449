#include "core/shell_word.hpp"

namespace leasehold {

std::string shell_word(std::string_view word) {
    std::string text = "'";
    for (const char each : word) {
        if (each == '\'') {
            text += "'\\''";
        } else {
            text += each;
        }
    }
    return text + "'";
}

}  // namespace leasehold
