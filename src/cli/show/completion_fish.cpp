#include <string>

#include "cli/output.hpp"
#include "cli/show/completion.hpp"

namespace leasehold::cli {
namespace {

constexpr const char* fish_functions = R"fish(
# The command line before the cursor is of this command, and not of one of the user's behind `--`.
function __leasehold_at
    set -l words (commandline -opc)
    not contains -- -- $words; and test (__leasehold_command) = "$argv[1]"
end

function __leasehold_runs
    set -l words (commandline -opc)
    contains -- -- $words; and __leasehold_runs_after (__leasehold_command)
end

# What follows `--`, as if it was the whole line.
function __leasehold_rest
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -l line (string escape -- $words[(math $at + 1)..]) (commandline -ct)
    complete -C (string join ' ' -- $line)
end

# Names from the database, where it is known which one.
function __leasehold_names
    set -l words (commandline -opc)
    set -l ask
    set -l is_value no
    for word in $words[2..]
        if test $is_value = yes
            set -a ask $word
            set is_value no
            continue
        end
        switch "+$word"
            case '+--url' '+--url-file' '+--table-prefix' '+--schema'
                set -a ask $word
                set is_value yes
            case '+--url=*' '+--url-file=*' '+--table-prefix=*' '+--schema=*'
                set -a ask $word
        end
    end
    command $words[1] $ask names $argv[1] 2>/dev/null
end

function __leasehold_not_runs
    not contains -- -- (commandline -opc)
end
)fish";

// In single quotes of fish a backslash escapes itself and the quote.
std::string quoted_for_fish(const std::string& text) {
    return "'" + with_replaced(text, {{'\'', "\\'"}, {'\\', "\\\\"}}) + "'";
}

// Completes a value: -x offers no files, only these words.
std::string fish_value(const option_facts& of) {
    if (of.value.empty()) return {};
    if (of.is_file) return " -r -F";
    if (!of.names_of.empty()) {
        return " -x -a " + quoted_for_fish("(__leasehold_names " + of.names_of + ")");
    }
    if (of.choices.empty()) return " -x";
    return " -x -a " + quoted_for_fish(joined(of.choices, " "));
}

std::string fish_option(const std::string& condition, const option_facts& option) {
    std::string line = "complete -c leasehold -n " + quoted_for_fish(condition);
    for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        line += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
    }
    line += fish_value(option);
    if (!option.meaning.empty()) line += " -d " + quoted_for_fish(option.meaning);
    return line + "\n";
}

std::string fish_lines(const command_facts& command) {
    const std::string condition = "__leasehold_at " + quoted_for_fish(command.name());
    std::string lines;
    for (const command_facts& each : command.commands) {
        lines += "complete -c leasehold -n " + quoted_for_fish(condition) + " -a " +
                 each.path.back() + " -d " + quoted_for_fish(each.meaning) + "\n";
    }
    if (command.path.empty()) return lines;
    for (const option_facts& each : command.options) {
        // The tool's own list has these options, for every command.
        if (each.names.back() != "--help") lines += fish_option(condition, each);
    }
    for (const option_facts& each : command.words) {
        if (each.choices.empty() && each.names_of.empty()) continue;
        lines += "complete -c leasehold -n " + quoted_for_fish(condition) + fish_value(each) + "\n";
    }
    return lines;
}

// Tells which option takes the next word as its value, and which word leads on to a command.
std::string fish_switches(const command_facts& tool) {
    std::string valued;
    std::string commands;
    std::string runners;
    for (const command_facts* const command : all_of(tool)) {
        for (const option_facts& each : command->options) {
            if (each.value.empty()) continue;
            for (const std::string& name : each.names) {
                valued +=
                    " " +
                    quoted_for_fish((command->path.empty() ? "*" : command->name()) + " " + name);
            }
        }
        if (!command->path.empty()) commands += " " + quoted_for_fish(command->name());
        if (command->runs_command) runners += " " + command->name();
    }
    return "# The command, and the one below it, that stand before the cursor.\n"
           "function __leasehold_command\n"
           "    set -l command\n"
           "    set -l is_value no\n"
           "    for word in (commandline -opc)[2..]\n"
           "        if test $is_value = yes\n"
           "            set is_value no\n"
           "            continue\n"
           "        end\n"
           "        test \"$word\" = --; and break\n"
           "        switch \"$command $word\"\n"
           "            case" +
           valued +
           "\n                set is_value yes\n"
           "        end\n"
           "        contains -- (string trim \"$command $word\")" +
           commands +
           "; and set -a command $word\n"
           "    end\n"
           "    echo \"$command\"\n"
           "end\n\n"
           "function __leasehold_runs_after\n"
           "    contains -- \"$argv[1]\"" +
           runners + "\nend\n";
}

}  // namespace

std::string fish_completion(const command_facts& tool) {
    std::string lines =
        "complete -c leasehold -f\n"
        "complete -c leasehold -n __leasehold_runs -x -a '(__leasehold_rest)'\n";
    for (const option_facts& each : tool.options) {
        lines += fish_option("__leasehold_not_runs", each);
    }
    for (const command_facts* const command : all_of(tool)) lines += fish_lines(*command);
    return "# fish completion for leasehold, written by `leasehold completion fish`\n" +
           fish_switches(tool) + fish_functions + "\n" + lines;
}

}  // namespace leasehold::cli
