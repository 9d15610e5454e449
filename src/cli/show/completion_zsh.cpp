#include <string>

#include "cli/output.hpp"
#include "cli/show/completion.hpp"

namespace leasehold::cli {
namespace {

// _arguments uses brackets and colons in its specifications.
std::string escaped_for_zsh(const std::string& text) {
    return with_replaced(text, {{'[', "\\["}, {']', "\\]"}, {':', "\\:"}, {'\\', "\\\\"}});
}

// ":D:", and the action that completes the value.
std::string zsh_value(const option_facts& of) {
    if (of.value.empty()) return {};
    std::string action = " ";
    if (of.is_file) action = "_files";
    if (!of.names_of.empty()) action = "{_leasehold_names " + of.names_of + "}";
    if (!of.choices.empty()) action = "(" + joined(of.choices, " ") + ")";
    return ":" + escaped_for_zsh(of.value) + ":" + action;
}

std::string zsh_option(const option_facts& option) {
    std::string specs;
    for (const std::string& name : option.names) {
        std::string others;
        if (!option.is_repeated) {
            for (const std::string& each : option.names) others += " " + each;
        }
        for (const std::string& each : option.excludes) others += " " + each;
        std::string spec = others.empty() ? "" : "(" + others.substr(1) + ")";
        if (option.is_repeated) spec += "*";
        spec += name;
        if (!option.value.empty()) spec += name.starts_with("--") ? "=" : "+";
        spec += "[" + escaped_for_zsh(option.meaning) + "]" + zsh_value(option);
        specs += "        " + quoted_for_shell(spec) + "\n";
    }
    return specs;
}

constexpr const char* zsh_names =
    R"zsh(_leasehold_names() { # WHAT: what the database has, as far as it is known where that is
    local -a found
    found=(${(f)"$($ask names $1 2>/dev/null)"})
    compadd -- $found
}

)zsh";

// The arguments of `leasehold names`, as the command line says them.
constexpr const char* zsh_ask =
    R"zsh(    local -a ask
    ask=(${(Q)words[1]})
    local -i at
    for (( at = 2; at < CURRENT; ++at )); do
        case $words[at] in
            --url|--url-file|--table-prefix|--schema) ask+=($words[at] ${(Q)words[at+1]}) ;;
            --url=*|--url-file=*|--table-prefix=*|--schema=*) ask+=(${(Q)words[at]}) ;;
        esac
    done
)zsh";

std::string zsh_function_name(const command_facts& command) {
    std::string name = "_leasehold";
    for (const std::string& each : command.path) name += "_" + each;
    return name;
}

// The functions of a command and of those below it; `every` has the tool's own options.
std::string zsh_function(const command_facts& command) {
    std::string specs;
    if (!command.path.empty()) {
        for (const option_facts& each : command.options) {
            // The tool's own list has these options, for every command.
            if (each.names.back() != "--help") specs += zsh_option(each);
        }
    }
    for (const option_facts& each : command.words) {
        const std::string many = each.is_repeated ? "*" : "";
        specs += "        " + quoted_for_shell(many + zsh_value(each)) + "\n";
    }
    std::string text = zsh_function_name(command) + "_arguments() {\n    local -a own commands\n";
    text += "    own=(\n" + specs + "    )\n";
    if (command.commands.empty()) {
        return text + "    _arguments -S : $every $own\n}\n\n";
    }
    text += "    commands=(\n";
    std::string cases;
    std::string below;
    for (const command_facts& each : command.commands) {
        const std::string meaning = escaped_for_zsh(each.meaning);
        text += "        " + quoted_for_shell(each.path.back() + ":" + meaning) + "\n";
        cases += "                " + each.path.back() + ") " + zsh_function_name(each) +
                 "_arguments ;;\n";
        below += zsh_function(each);
    }
    return below + text +
           "    )\n"
           "    local curcontext=$curcontext state line\n"
           "    _arguments -C -S : $every $own '1: :->command' '*:: :->rest' && return\n"
           "    case $state in\n"
           "        command) _describe -t commands command commands ;;\n"
           "        rest)\n"
           "            case $words[1] in\n" +
           cases + "            esac\n            ;;\n    esac\n}\n\n";
}

}  // namespace

std::string zsh_completion(const command_facts& tool) {
    std::string every;
    for (const option_facts& each : tool.options) every += zsh_option(each);
    std::string runners;
    for (const command_facts& each : tool.commands) {
        if (each.runs_command) runners += (runners.empty() ? "" : "|") + each.name();
    }
    return "#compdef leasehold\n"
           "# zsh completion for leasehold, written by `leasehold completion zsh`\n\n" +
           zsh_function(tool) + zsh_names + "_leasehold() {\n" + zsh_ask +
           "    local -i cut=${words[(i)--]}\n"
           "    if (( cut < CURRENT )); then\n"
           "        # The rest is a command line of its own.\n"
           "        [[ -n ${(M)words[1,cut]:#(" +
           runners +
           ")} ]] || return 1\n"
           "        shift $cut words\n"
           "        (( CURRENT -= cut ))\n"
           "        _normal\n"
           "        return\n"
           "    fi\n"
           "    local -a every\n"
           "    every=(\n" +
           every +
           "    )\n"
           "    _leasehold_arguments\n"
           "}\n\n"
           "if [[ $funcstack[1] == _leasehold ]]; then\n"
           "    _leasehold \"$@\"\n"
           "else # by `source <(leasehold completion zsh)`\n"
           "    compdef _leasehold leasehold\n"
           "fi\n";
}

}  // namespace leasehold::cli
