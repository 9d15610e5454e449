// `leasehold completion SHELL`: prints the script for that shell's completion.
#include "cli/show/completion.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

constexpr const char* completion_help =
    "Packages bring it along; otherwise it is for the file that the shell reads at its start.\n"
    "Keys, tasks, queues and schedules are offered as well, where the line or the environment\n"
    "says where the database is, and it answers within a second.\n"
    "\n"
    "Examples:\n"
    "  source <(leasehold completion bash)                            # in ~/.bashrc\n"
    "  leasehold completion zsh >~/.zsh/completions/_leasehold         # a folder of $fpath\n"
    "  leasehold completion fish >~/.config/fish/completions/leasehold.fish\n"
    "\n"
    "Exit status: 0; otherwise see `leasehold --help`.\n";

std::string completion_for(const std::string& shell, const command_facts& tool) {
    if (shell == "zsh") return zsh_completion(tool);
    if (shell == "fish") return fish_completion(tool);
    return bash_completion(tool);
}

}  // namespace

std::string quoted_for_shell(const std::string& text) {
    return "'" + with_replaced(text, {{'\'', "'\\''"}}) + "'";
}

command add_completion(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("completion", "Print what lets a shell complete command lines");
    auto shell = std::make_shared<std::string>();
    parser->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}))
        ->option_text(" ");
    parser->footer(completion_help);
    return {parser, [shell, &tool, &options] {
                const std::string script = completion_for(*shell, facts_of(tool));
                const auto without_end = std::string_view{script}.substr(0, script.size() - 1);
                print_result(options.is_json, {{"shell", *shell}, {"script", script}}, without_end);
                return exit_status::done;
            }};
}

}  // namespace leasehold::cli
