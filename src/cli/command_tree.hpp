#pragma once
// The tool's commands as the parser knows them and --help shows them: for manual pages and shells.
#include <set>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's own name
class App;
}

namespace leasehold::cli {

struct option_facts {
    std::vector<std::string> names;  // "-h", "--help"; of a word without a dash: "KEY"
    std::string value;               // the word for its value: "D"; a flag has none
    std::string meaning;
    std::vector<std::string> choices;  // its value is one of these; empty: anything
    std::string names_of;              // the list of `leasehold names` with its values
    std::set<std::string> excludes;    // options that are not given with it
    bool is_file = false;              // its value is the name of a file
    bool is_repeated = false;          // may be given several times
    bool is_required = false;
};

struct command_facts {
    std::vector<std::string> path;  // {"job", "enqueue"}; of the tool itself nothing
    std::string meaning;
    std::string help;                   // the text of --help below the options
    std::vector<option_facts> options;  // its own; those of the tool go with every command
    std::vector<option_facts> words;    // its arguments without a dash, in this order
    std::vector<command_facts> commands;
    bool needs_command = false;  // one of its commands has to follow
    bool runs_command = false;   // one of the user's follows `--`

    std::string name() const;  // "job enqueue"
};

// Leaves out everything that is hidden from --help.
command_facts facts_of(const CLI::App& tool);

// This command, and all commands below it.
std::vector<const command_facts*> all_of(const command_facts& tree);

}  // namespace leasehold::cli
