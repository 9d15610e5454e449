#include "sql/transaction_words.hpp"

#include <algorithm>
#include <string>

namespace leasehold {
namespace {

constexpr std::string_view blanks = " \t\r\n\f\v;";

// Takes the blanks and comments off its front.
void skip_blank(std::string_view& text) {
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        const bool is_line = text.starts_with("--") || text.starts_with('#');
        if (!is_line && !text.starts_with("/*")) return;
        const std::string_view end_of_comment = is_line ? "\n" : "*/";
        const auto end = text.find(end_of_comment, is_line ? 1 : 2);
        text.remove_prefix(
            end == std::string_view::npos ? text.size() : end + end_of_comment.size()
        );
    }
}

// Takes a word off its front, in upper case.
std::string next_word(std::string_view& text) {
    skip_blank(text);
    std::string word;
    while (!text.empty()) {
        const char upper = static_cast<char>(text.front() & ~0x20);
        if (upper < 'A' || upper > 'Z') break;
        word += upper;
        text.remove_prefix(1);
    }
    return word;
}

}  // namespace

bool is_transaction_control(std::string_view statement) {
    const std::string first = next_word(statement);
    if (first == "END" || first == "ABORT") return true;
    if (first == "COMMIT") return next_word(statement) != "PREPARED";
    if (first == "START" || first == "PREPARE") return next_word(statement) == "TRANSACTION";
    if (first == "BEGIN") return next_word(statement) != "NOT";  // a block of MariaDB's
    if (first != "ROLLBACK") return false;
    std::string second = next_word(statement);
    if (second == "WORK" || second == "TRANSACTION") second = next_word(statement);
    return second != "TO" && second != "PREPARED";
}

}  // namespace leasehold
