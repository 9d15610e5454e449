#include "support/documented_proofs.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

namespace leasehold::testing {
namespace {

std::string text_between(const std::string& text, const std::string& begin, const char* end) {
    const auto first = text.find(begin);
    const auto last = text.find(end, first + begin.size());
    if (first == std::string::npos || last == std::string::npos) {
        throw std::runtime_error("the page of proofs has no " + begin);
    }
    return text.substr(first + begin.size(), last - first - begin.size());
}

// Each name stands once in a statement, and so its placeholder may be numbered by its place.
std::string with_placeholders(const std::string& statement, engine which) {
    static const std::regex name{R"((^|[^:]):[a-z]+)"};
    std::string made;
    int number = 0;
    auto rest = statement.begin();
    for (std::sregex_iterator at{rest, statement.end(), name}, end; at != end; ++at) {
        made.append(rest, statement.begin() + at->position() + at->length(1));
        made += which == engine::postgres ? "$" + std::to_string(++number) : "?";
        rest = statement.begin() + at->position() + at->length();
    }
    return made.append(rest, statement.end());
}

}  // namespace

documented_proofs read_documented_proofs(engine which, const std::string& prefix) {
    std::ifstream page{LEASEHOLD_PAGE_OF_PROOFS};
    const std::string all{std::istreambuf_iterator<char>{page}, {}};
    const std::string text =
        std::regex_replace(all, std::regex{"leasehold_(lock|holder|job|prove)"}, prefix + "$1");
    const char* const name = which == engine::postgres ? "postgres"
                             : which == engine::sqlite ? "sqlite"
                                                       : "mysql";
    const std::string block = text_between(text, std::string{"```sql "} + name + "\n", "```");
    const auto end = block.find(';');
    documented_proofs made{
        with_placeholders(block.substr(0, end), which),
        with_placeholders(block.substr(end + 1, block.rfind(';') - end - 1), which),
        {}};
    static const std::regex grant{"`(GRANT [^`]*)`"};
    for (std::sregex_iterator at{text.begin(), text.end(), grant}, last; at != last; ++at) {
        made.grants.push_back((*at)[1]);
    }
    return made;
}

}  // namespace leasehold::testing
