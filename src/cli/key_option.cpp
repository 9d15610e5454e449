#include "cli/key_option.hpp"

#include <CLI/CLI.hpp>

#include "cli/exit_status.hpp"

namespace leasehold::cli {

void key_option::add(CLI::App& parser, const char* word, const char* help) {
    word_ = word;
    option_ = word_ == "KEY" ? "--key" : "--name";
    plain_ = parser.add_option(word_, value_, help)->option_text(" ");
    named_ =
        parser.add_option(option_, value_, "Instead of " + word_ + ", where it begins with a dash")
            ->option_text("K");
}

bool key_option::is_given() const {
    return plain_->count() + named_->count() > 0;
}

leasehold::key key_option::get() const {
    const bool is_twice = plain_->count() > 0 && named_->count() > 0;
    if (is_twice) throw usage_failure("say " + word_ + " or " + option_ + ", and not both");
    if (is_given()) return leasehold::key{value_};
    throw usage_failure(
        word_ + " is missing; one that begins with a dash is written " + option_ + "=-k"
    );
}

}  // namespace leasehold::cli
