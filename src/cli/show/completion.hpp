#pragma once
// The scripts by which a shell completes the tool's commands, options and their values.
#include <string>

#include "cli/command_tree.hpp"

namespace leasehold::cli {

// A script for the shell to read: from its folder of completions, or by `source <(…)`.
std::string bash_completion(const command_facts& tool);
std::string zsh_completion(const command_facts& tool);
std::string fish_completion(const command_facts& tool);

// 'it'\''s'
std::string quoted_for_shell(const std::string& text);

}  // namespace leasehold::cli
