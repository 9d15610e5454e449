// `leasehold manual FOLDER`: writes the manual's pages for packages. They say the same as --help,
// from the same source.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

// Escapes text for roff so that each character stays as it is, since people copy words from a page
// into a shell. If `has_code`, text between backticks becomes bold.
std::string roff(std::string_view text, bool has_code = false) {
    std::string escaped;
    bool is_bold = false;
    bool is_at_begin = true;
    for (const char each : text) {
        if (is_at_begin && each == '.') escaped += "\\&";
        is_at_begin = each == '\n';
        if (each == '`' && has_code) {
            is_bold = !is_bold;
            escaped += is_bold ? "\\fB" : "\\fR";
            continue;
        }
        escaped += with_replaced(
            {&each, 1},
            {{'\\', "\\e"},
             {'-', "\\-"},
             {'\'', "\\(aq"},
             {'^', "\\(ha"},
             {'~', "\\(ti"},
             {'`', "\\(ga"}}
        );
    }
    return escaped;
}

std::string bold(std::string_view text) {
    return "\\fB" + roff(text) + "\\fR";
}
std::string italic(std::string_view text) {
    return "\\fI" + roff(text) + "\\fR";
}

using lines = std::vector<std::string>;

// The text of --help below the options, by subject.
struct help_parts {
    lines description;
    lines examples;
    lines statuses;
};

// The first line without an indent ends the examples; the exit statuses come last.
help_parts parts_of(const std::string& help) {
    constexpr std::string_view statuses = "Exit status:";
    help_parts parts;
    lines* part = &parts.description;
    std::istringstream from{help};
    for (std::string line; std::getline(from, line);) {
        if (line == "Examples:") {
            part = &parts.examples;
            continue;
        }
        if (line.starts_with(statuses)) {
            part = &parts.statuses;
            line.erase(0, std::min(line.size(), statuses.size() + 1));
            if (line.empty()) continue;
        }
        const bool is_indented = line.empty() || line.front() == ' ';
        if (part == &parts.examples && !is_indented) part = &parts.description;
        part->push_back(line);
    }
    return parts;
}

// Writes a part's text: paragraphs are filled, and each indented item becomes an item of a list. If
// at least two blanks follow the first words of an item, these words are its heading.
class flow {
public:
    std::string text(const lines& part) {
        for (const std::string& line : part) add(line);
        return text_;
    }

private:
    void add(const std::string& line) {
        const auto indent = line.find_first_not_of(' ');
        if (indent == std::string::npos) {
            is_new_ = true;
        } else if (indent == 0) {
            if (is_new_ || is_in_list_) begin(".PP\n");
            is_in_list_ = false;
            write(line);
        } else if (indent > 2) {
            write(line.substr(indent));
        } else {
            add_item(line.substr(indent));
        }
    }
    void add_item(const std::string& item) {
        const auto gap = item.find("  ");
        is_in_list_ = true;
        if (gap == std::string::npos) {
            begin(".IP \\(bu 2\n");
            write(item);
            return;
        }
        begin(".TP\n");
        text_ += bold(item.substr(0, gap)) + "\n";
        write(item.substr(item.find_first_not_of(' ', gap)));
    }
    void begin(const char* macro) {
        const bool is_paragraph = std::string_view{macro} == ".PP\n";
        if (!text_.empty() || !is_paragraph) text_ += macro;
        is_new_ = false;
    }
    void write(const std::string& line) {
        text_ += roff(line, true) + "\n";
        is_new_ = false;
    }

    std::string text_;
    bool is_new_ = false;
    bool is_in_list_ = false;
};

std::string section(const char* title, const std::string& text) {
    return text.empty() ? "" : std::string{".SH "} + title + "\n" + text;
}

// Writes the lines unfilled, as a user types them.
std::string verbatim(const lines& part) {
    std::string text;
    for (const std::string& line : part) {
        const auto indent = line.find_first_not_of(' ');
        text += indent == std::string::npos ? "" : roff(line.substr(indent)) + "\n";
    }
    return text.empty() ? "" : ".nf\n" + text + ".fi\n";
}

std::string manual_option(const option_facts& option) {
    std::string names;
    for (const std::string& each : option.names) {
        const bool is_word = each.front() != '-';
        names += (names.empty() ? "" : ", ") + (is_word ? italic(each) : bold(each));
    }
    const bool takes_value = option.names.front().front() == '-' && !option.value.empty();
    if (takes_value) names += " " + italic(option.value);
    std::string text = ".TP\n" + names + "\n" + roff(option.meaning, true);
    if (!option.choices.empty()) {
        std::string words;
        for (const std::string& each : option.choices) {
            words += (words.empty() ? "" : ", ") + bold(each);
        }
        text += " (one of " + words + ")";
    }
    if (!option.excludes.empty()) {
        text += "; not with";
        for (const std::string& each : option.excludes) text += " " + bold(each);
    }
    return text + "\n";
}

std::string manual_options(const command_facts& command) {
    std::string text;
    for (const option_facts& each : command.words) text += manual_option(each);
    const bool is_tool = command.path.empty();
    for (const option_facts& each : command.options) {
        // The tool's own page describes these options.
        if (is_tool || each.names.back() != "--help") text += manual_option(each);
    }
    return text;
}

std::string synopsis_of(const command_facts& command) {
    std::string text = bold("leasehold");
    if (command.path.empty()) text += " [" + italic("OPTIONS") + "]";
    for (const std::string& each : command.path) text += " " + bold(each);
    if (!command.path.empty()) text += " [" + italic("OPTIONS") + "]";
    for (const option_facts& each : command.words) {
        const std::string many = each.is_repeated ? "..." : "";
        const std::string word = italic(each.value) + many;
        text += each.is_required ? " " + word : " [" + word + "]";
    }
    if (!command.commands.empty()) {
        const std::string word = italic("COMMAND");
        const bool is_due = command.needs_command || command.path.empty();
        text += is_due ? " " + word : " [" + word + "]";
    }
    if (command.runs_command) text += " \\-\\- " + italic("CMD") + " [" + italic("ARG") + "...]";
    return text + "\n";
}

std::string page_name(const command_facts& command) {
    return command.path.empty() ? "leasehold" : "leasehold-" + command.path.front();
}

std::string heading(const command_facts& command) {
    std::string title = page_name(command);
    std::ranges::transform(title, title.begin(), [](unsigned char each) {
        return static_cast<char>(std::toupper(each));
    });
    std::string meaning = command.meaning;
    if (meaning.ends_with('.')) meaning.pop_back();
    return ".\\\" written by `leasehold manual`\n.TH " + roff(title) +
           " 1 \"" LEASEHOLD_RELEASED "\" \"leasehold " LEASEHOLD_VERSION
           "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n" +
           roff(page_name(command)) + " \\- " + roff(meaning) + "\n";
}

std::string main_page(const command_facts& tool) {
    const help_parts parts = parts_of(tool.help);
    std::string commands;
    for (const command_facts& each : tool.commands) {
        commands +=
            ".TP\n.BR " + roff(page_name(each)) + " (1)\n" + roff(each.meaning, true) + "\n";
    }
    return heading(tool) + section("SYNOPSIS", synopsis_of(tool)) +
           section("DESCRIPTION", roff(tool.meaning) + "\n.PP\n" + flow{}.text(parts.description)) +
           section(
               "OPTIONS",
               "They go with every command, in front of it or behind.\n" + manual_options(tool)
           ) +
           section("COMMANDS", commands) + section("EXAMPLES", verbatim(parts.examples)) +
           section("EXIT STATUS", flow{}.text(parts.statuses));
}

std::string command_page(const command_facts& command) {
    const help_parts parts = parts_of(command.help);
    std::string synopsis = synopsis_of(command);
    std::string below;
    for (const command_facts& each : command.commands) {
        synopsis += ".br\n" + synopsis_of(each);
        below += ".SS " + roff("leasehold " + each.name()) + "\n" + roff(each.meaning, true) +
                 "\n" + manual_options(each);
    }
    return heading(command) + section("SYNOPSIS", synopsis) +
           section(
               "DESCRIPTION", roff(command.meaning) + ".\n.PP\n" + flow{}.text(parts.description)
           ) +
           section(
               "OPTIONS",
               "Those of\n.BR leasehold (1)\ngo with this command, too.\n" + manual_options(command)
           ) +
           section("COMMANDS", below) + section("EXAMPLES", verbatim(parts.examples)) +
           section("EXIT STATUS", flow{}.text(parts.statuses)) +
           section("SEE ALSO", ".BR leasehold (1)\n");
}

void write_page(const std::string& folder, const command_facts& command) {
    const std::string path = folder + "/" + page_name(command) + ".1";
    std::ofstream file{path};
    file << (command.path.empty() ? main_page(command) : command_page(command));
    file.close();
    if (file) return;
    throw failure{exit_status::failed, "not_written", "the file " + path + " cannot be written"};
}

}  // namespace

command add_manual(CLI::App& tool) {
    CLI::App* const parser = tool.add_subcommand("manual", "Write the manual's pages");
    parser->group("");  // for makers of packages
    auto folder = std::make_shared<std::string>();
    parser->add_option("FOLDER", *folder, "Where to")->required();
    return {parser, [folder, &tool] {
                const command_facts tree = facts_of(tool);
                write_page(*folder, tree);
                for (const command_facts& each : tree.commands) write_page(*folder, each);
                return exit_status::done;
            }};
}

}  // namespace leasehold::cli
