#pragma once
// The command line before it is parsed: taken over, passwords hidden, cut at `--`.
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::cli {

struct arguments {
    std::vector<std::string> own;      // the tool's, without its name
    std::vector<std::string> command;  // of `lock …`: the words behind the first `--`, untouched
    bool has_separator = false;        // of `lock …`: there was a `--`
    bool is_json = false;              // known before parsing, because parsing can fail
};

// True when this command of the tool runs one of the user's, which follows a `--`.
bool runs_command(std::string_view name);

// Copies the command line, then overwrites the passwords in the original: other users can read it
// with `ps` for as long as the process lives.
arguments take_arguments(int count, char** values);

// `text` with the password of every URL in it replaced by x's, same length.
std::string without_passwords(std::string_view text);

}  // namespace leasehold::cli
