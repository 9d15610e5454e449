#pragma once
// The key that a command is about: a word of its own, or --key=K where it begins with a dash.
#include <string>

#include "leasehold/key.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's own name
class App;
class Option;
}  // namespace CLI

namespace leasehold::cli {

class key_option {
public:
    // `word` is KEY or NAME, in help. The option must stay where it is while the parser is in use.
    void add(CLI::App& parser, const char* word, const char* help);

    bool is_given() const;
    // Throws if no key is given.
    leasehold::key get() const;

private:
    std::string value_;
    std::string word_;
    std::string option_;
    const CLI::Option* plain_ = nullptr;
    const CLI::Option* named_ = nullptr;
};

}  // namespace leasehold::cli
