#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>
#include <sstream>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

// CLI::IsMember shows the choices only in the name of the value's type, as {a,b}.
std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const auto from = type.find('{');
    const auto to = type.find('}', from);
    std::vector<std::string> choices;
    if (to == std::string::npos) return choices;
    std::istringstream list{type.substr(from + 1, to - from - 1)};
    for (std::string each; std::getline(list, each, ',');) choices.push_back(each);
    return choices;
}

// Derives the list from the words that the tool uses for values.
std::string names_of(const option_facts& option, const std::vector<std::string>& path) {
    const std::string& name = option.names.back();
    if (option.value == "Q") return "queues";
    if (option.value == "KEY" || name == "--key") return "keys";
    if (option.value != "NAME" && name != "--name") return {};
    const std::string command = path.empty() ? "" : path.front();
    if (command == "once" || command == "runs") return "tasks";
    if (command == "elect") return "keys";
    if (command == "queue") return "queues";
    return command == "schedule" ? "schedules" : "";
}

option_facts facts_of_option(const CLI::Option& option) {
    option_facts facts;
    facts.meaning = option.get_description();
    facts.choices = choices_of(option);
    facts.is_repeated = option.get_expected_max() > 1;
    facts.is_required = option.get_required();
    for (const CLI::Option* const each : option.get_excludes()) {
        facts.excludes.insert(each->get_name());
    }
    if (!option.nonpositional()) {
        facts.names = {option.get_name(true)};
        facts.value = facts.names.front();
        return facts;
    }
    for (const std::string& each : option.get_snames()) facts.names.push_back("-" + each);
    for (const std::string& each : option.get_lnames()) facts.names.push_back("--" + each);
    const bool is_flag = option.get_items_expected_max() == 0;
    if (!is_flag) facts.value = option.get_option_text();
    // The tool's own text for it.
    facts.is_file = facts.value == "F" || facts.value == "FILE";
    return facts;
}

command_facts facts_of_command(const CLI::App& parser, std::vector<std::string> path) {
    command_facts facts;
    facts.path = std::move(path);
    facts.meaning = parser.get_description();
    facts.help = parser.get_footer();
    facts.needs_command = parser.get_require_subcommand_min() > 0;
    facts.runs_command = facts.path.size() == 1 && runs_command(facts.path.front());
    for (const CLI::Option* const each : parser.get_options()) {
        if (each->get_group().empty()) continue;
        auto& kind = each->nonpositional() ? facts.options : facts.words;
        kind.push_back(facts_of_option(*each));
        kind.back().names_of = names_of(kind.back(), facts.path);
    }
    const auto is_shown = [](const CLI::App* each) { return !each->get_group().empty(); };
    for (const CLI::App* const each : parser.get_subcommands(is_shown)) {
        std::vector<std::string> below = facts.path;
        below.push_back(each->get_name());
        facts.commands.push_back(facts_of_command(*each, std::move(below)));
    }
    return facts;
}

}  // namespace

std::string command_facts::name() const {
    return joined(path, " ");
}

command_facts facts_of(const CLI::App& tool) {
    return facts_of_command(tool, {});
}

std::vector<const command_facts*> all_of(const command_facts& tree) {
    std::vector<const command_facts*> all{&tree};
    for (const command_facts& each : tree.commands) {
        for (const command_facts* const below : all_of(each)) all.push_back(below);
    }
    return all;
}

}  // namespace leasehold::cli
