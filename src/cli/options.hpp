#pragma once
// Options that several commands share, and how their values are read.
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's own name
class App;
}

namespace leasehold::cli {

// The options that may stand before or behind any command.
struct global_options {
    std::string url;       // empty: see url_of
    std::string url_file;  // from --url-file
    bool passes_url = false;
    bool requires_standby = false;
    // If they are not given, from LEASEHOLD_TABLE_PREFIX and LEASEHOLD_SCHEMA.
    std::string table_prefix = "leasehold_";
    std::string wakeup_address{};
    std::string schema;
    bool is_json = false;
    bool wants_version = false;
};

// --url or the content of --url-file, else LEASEHOLD_URL or the content of LEASEHOLD_URL_FILE.
// There is no default: two hosts that each fell back to a local file would not exclude each other.
std::string url_of(const global_options& options);
// The file with the URL; nullopt: the URL is given in full.
std::optional<std::string> url_file_of(const global_options& options);

// The value of an environment variable; nullopt if it is not set. Throws if it is empty: an empty
// variable is a mistake in the configuration, and its intention is unknown.
std::optional<std::string> from_environment(const char* name);

// "500ms", "5s", "2m", "1h", "1d", or a plain number of seconds. A failure names the value by
// `what`.
std::chrono::milliseconds parse_duration(std::string_view text, const std::string& what);
// Without its part of a second.
std::chrono::seconds parse_seconds(std::string_view text, const std::string& what);

// The check of --tz: says what is wrong with an empty value, which would be UTC without a word.
std::string complaint_of_zone(const std::string& zone);

// Such a duration, or nullopt for "forever".
std::optional<std::chrono::milliseconds> parse_timeout(
    std::string_view text, const std::string& what
);

// A command of the tool, known to the parser and ready to run.
struct command {
    CLI::App* parser = nullptr;
    std::function<int()> run;
};

struct arguments;

command add_lock(CLI::App& tool, const global_options& options, const arguments& given);
command add_elect(CLI::App& tool, const global_options& options, const arguments& given);
command add_once(CLI::App& tool, const global_options& options, const arguments& given);
command add_runs(CLI::App& tool, const global_options& options);
command add_history(CLI::App& tool, const global_options& options);
command add_locks(CLI::App& tool, const global_options& options);
command add_sessions(CLI::App& tool, const global_options& options);
command add_unlock(CLI::App& tool, const global_options& options);
command add_migrate(CLI::App& tool, const global_options& options);
command add_demo(CLI::App& tool, const global_options& options);
command add_reap(CLI::App& tool, const global_options& options);
command add_doctor(CLI::App& tool, const global_options& options);
command add_job(CLI::App& tool, const global_options& options);
command add_queue(CLI::App& tool, const global_options& options);
command add_schedule(CLI::App& tool, const global_options& options);
command add_work(CLI::App& tool, const global_options& options, const arguments& given);
command add_agent(CLI::App& tool, const global_options& options);
command add_serve(CLI::App& tool, const global_options& options);
command add_top(CLI::App& tool, const global_options& options);
command add_completion(CLI::App& tool, const global_options& options);
command add_manual(CLI::App& tool);
command add_names(CLI::App& tool, const global_options& options);

}  // namespace leasehold::cli
