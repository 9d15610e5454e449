#include <algorithm>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "cli/show/completion.hpp"

namespace leasehold::cli {
namespace {

// Bash splits words at `:` and `=`, too, so the script joins them before it reads them.
constexpr const char* bash_functions = R"bash(
_leasehold_offer() { # WORD: of $values and of what the database has, or of the files
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$1")
        return
    fi
    # Names of letters, digits and ._/@%+,- alone: compgen carries out what is in a list of words.
    if [[ -n $names ]]; then values+=" $("${ask[@]}" names "$names" 2>/dev/null)"; fi
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$1")
}

_leasehold() {
    COMPREPLY=()
    local words=() places=() line=$COMP_LINE each at
    for ((at = 0; at <= COMP_CWORD; ++at)); do
        each=${COMP_WORDS[at]}
        if ((at == 0)) || [[ $line == [[:space:]]* || -z $each ]]; then
            words+=("$each") places+=("$at")
            line=${line#"${line%%[![:space:]]*}"}
        else
            words[-1]+=$each
        fi
        line=${line#"$each"}
    done
    local last=$((${#words[@]} - 1)) word=${words[-1]} command='' commands options valued
    local options_of_all valued_by_all values='' files='' names='' ask=("${words[0]}")
    _leasehold_of ''
    for ((at = 1; at < last; ++at)); do
        each=${words[at]}
        if [[ $each == -- ]]; then
            _leasehold_runs "$command" || return
            # The rest is a command line of its own.
            if declare -F _command_offset >/dev/null; then
                _command_offset $((places[at] + 1))
            elif ((last == at + 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi
            return
        fi
        case $each in
            --url | --url-file | --table-prefix | --schema)
                ask+=("$each" "${words[at + 1]//[\'\"]/}")
                ;;
            --url=* | --url-file=* | --table-prefix=* | --schema=*) ask+=("${each//[\'\"]/}") ;;
        esac
        if [[ " $valued $valued_by_all " == *" $each "* ]]; then
            ((++at < last)) && continue
            _leasehold_values "$command" "$each"
            _leasehold_offer "$word"
            return
        fi
        if [[ $each != -* && " $commands " == *" $each "* ]]; then
            command+=${command:+ }$each
            _leasehold_of "$command"
        fi
    done
    if [[ $word == --*=* ]]; then
        _leasehold_values "$command" "${word%%=*}"
        _leasehold_offer "${word#*=}"
        # Only what follows the = is replaced, where that divides words.
        if [[ $COMP_WORDBREAKS != *=* ]]; then COMPREPLY=("${COMPREPLY[@]/#/${word%%=*}=}"); fi
        return
    fi
    _leasehold_words "$command"
    values+=" $commands"
    if [[ $word == -* ]]; then
        values="$options $valued $options_of_all $valued_by_all" names=''
    fi
    _leasehold_offer "$word"
}
complete -F _leasehold leasehold
)bash";

std::vector<std::string> option_names(const std::vector<option_facts>& options, bool have_values) {
    std::vector<std::string> names;
    for (const option_facts& each : options) {
        if (each.value.empty() == have_values) continue;
        names.insert(names.end(), each.names.begin(), each.names.end());
    }
    return names;
}

// Each command already offers the tool's own options, such as --help.
std::vector<std::string> own_names(
    const command_facts& command, const command_facts& tool, bool have_values
) {
    auto names = option_names(command.options, have_values);
    const auto of_all = option_names(tool.options, have_values);
    std::erase_if(names, [&](const std::string& each) {
        return std::find(of_all.begin(), of_all.end(), each) != of_all.end();
    });
    return names;
}

std::string bash_case(const command_facts& command, const command_facts& tool) {
    std::vector<std::string> below;
    for (const command_facts& each : command.commands) below.push_back(each.path.back());
    std::vector<std::string> options;
    std::vector<std::string> valued;
    if (!command.path.empty()) {
        options = own_names(command, tool, false);
        valued = own_names(command, tool, true);
    }
    if (command.runs_command) options.emplace_back("--");
    return "        " + quoted_for_shell(command.name()) +
           ")\n            commands=" + quoted_for_shell(joined(below, " ")) +
           "\n            options=" + quoted_for_shell(joined(options, " ")) +
           "\n            valued=" + quoted_for_shell(joined(valued, " ")) + "\n            ;;\n";
}

std::string bash_values(const option_facts& of) {
    std::string found;
    if (of.is_file) found += " files=yes";
    if (!of.names_of.empty()) found += " names=" + of.names_of;
    if (!of.choices.empty()) found += " values=" + quoted_for_shell(joined(of.choices, " "));
    return found;
}

}  // namespace

std::string bash_completion(const command_facts& tool) {
    std::string cases;
    std::string values;
    std::string words;
    std::string runners;
    for (const command_facts* const command : all_of(tool)) {
        cases += bash_case(*command, tool);
        const bool is_tool = command->path.empty();
        for (const option_facts& each : command->options) {
            const std::string found = bash_values(each);
            if (found.empty()) continue;
            for (const std::string& name : each.names) {
                const std::string pattern = is_tool
                                                ? "*" + quoted_for_shell(" " + name)
                                                : quoted_for_shell(command->name() + " " + name);
                values.append("        ").append(pattern).append(")").append(found).append(" ;;\n");
            }
        }
        for (const option_facts& each : command->words) {
            const std::string found = bash_values(each);
            if (found.empty()) continue;
            words += "        " + quoted_for_shell(command->name()) + ")" + found + " ;;\n";
        }
        if (command->runs_command) {
            runners += (runners.empty() ? "" : " | ") + quoted_for_shell(command->name());
        }
    }
    return "# bash completion for leasehold, written by `leasehold completion bash`\n"
           "# shellcheck shell=bash disable=SC2034\n"
           "_leasehold_of() { # COMMAND: sets what may follow it\n"
           "    options_of_all=" +
           quoted_for_shell(joined(option_names(tool.options, false), " ")) +
           "\n    valued_by_all=" +
           quoted_for_shell(joined(option_names(tool.options, true), " ")) +
           "\n"
           "    case $1 in\n" +
           cases +
           "    esac\n}\n\n_leasehold_values() { # COMMAND OPTION: sets what its value may be\n"
           "    case \"$1 $2\" in\n" +
           values +
           "    esac\n}\n\n_leasehold_words() { # COMMAND: sets what its words may be\n"
           "    case $1 in\n" +
           words + "    esac\n}\n\n_leasehold_runs() { # COMMAND: one of the user's follows it\n" +
           "    case $1 in\n        " + runners + ") ;;\n        *) return 1 ;;\n    esac\n}\n" +
           bash_functions;
}

}  // namespace leasehold::cli
