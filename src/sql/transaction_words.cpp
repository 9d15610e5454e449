#include "sql/transaction_words.hpp"

#include <string>
#include <vector>

#include "core/statement_words.hpp"

namespace leasehold {

bool is_transaction_control(std::string_view statement, engine which) {
    std::vector<std::string> words = statement_words(statement, which, 3);
    words.resize(3);
    const std::string &first = words[0], &second = words[1];
    if (first == "END" || first == "ABORT") return true;
    if (first == "COMMIT") return second != "PREPARED";
    if (first == "START" || first == "PREPARE") return second == "TRANSACTION";
    if (first == "BEGIN") return second != "NOT";  // a block of MariaDB's
    if (first != "ROLLBACK") return false;
    const bool has_noun = second == "WORK" || second == "TRANSACTION";
    const std::string& what = has_noun ? words[2] : second;
    return what != "TO" && what != "PREPARED";
}

}  // namespace leasehold
