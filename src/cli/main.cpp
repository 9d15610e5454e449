// The leasehold command: locks and leases from the shell. One file per noun beside this one.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/arguments.hpp"
#include "cli/commit.hpp"
#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

constexpr const char* description =
    "Locks and leases on the database you already have: PostgreSQL, MySQL, MariaDB, SQLite.";

constexpr const char* tool_examples =
    "D is a duration: 500ms, 5s, 2m, 1h, 1d, or a plain number of seconds.\n"
    "\n"
    "--url names the database, or --url-file a file whose one line does; otherwise\n"
    "LEASEHOLD_URL or LEASEHOLD_URL_FILE in the environment. There is no default, since locks\n"
    "exclude only programs that use the same database. A URL is one of\n"
    "  sqlite:PATH                              (for the processes of one machine)\n"
    "  postgresql://user@host:port/database     (or host=H dbname=D; PGPASSFILE too)\n"
    "  mysql://user@host:port/database          (MySQL and MariaDB; MYSQL_PWD)\n"
    "Keep a password in a file that you alone may read: that of LEASEHOLD_URL_FILE, or a\n"
    "PGPASSFILE. A password in --url is hidden from `ps` at once, but was there for a moment.\n"
    "CMD gets neither LEASEHOLD_URL nor MYSQL_PWD or PGPASSWORD; with --pass-url it does, for\n"
    "a CMD that runs leasehold itself.\n"
    "\n"
    "--table-prefix and --schema, or LEASEHOLD_TABLE_PREFIX and LEASEHOLD_SCHEMA, have to be\n"
    "the same for all programs as well.\n"
    "\n"
    "--bell-address, or LEASEHOLD_BELL_ADDRESS, is an address of this machine, such as\n"
    "192.0.2.7 or [2001:db8::7]:7400. Other machines send a datagram there, so that a command\n"
    "that waits learns at once that it is its turn. Those machines need an address, too.\n"
    "Within one machine nothing has to be set.\n"
    "\n"
    "Examples:\n"
    "  export LEASEHOLD_URL=postgresql://app@db/app\n"
    "  leasehold migrate\n"
    "  leasehold lock nightly-backup -- /usr/local/bin/backup --all\n"
    "  leasehold lock deploy/shop --wait forever -- make deploy\n"
    "  leasehold elect billing/leader -- ./scheduler\n"
    "  leasehold once report --cron '30 2 * * *' --tz Europe/Berlin -- make report\n"
    "  leasehold locks --prefix deploy/\n"
    "  leasehold unlock nightly-backup --force\n"
    "  leasehold job enqueue --queue mail --kind welcome '{\"to\":\"ada\"}'\n"
    "  leasehold work --queue mail -- ./send-mail\n"
    "  leasehold --json sessions\n"
    "  leasehold doctor\n"
    "\n";

// Adds to the usage the command that follows, of which CLI11 does not know.
class help_format : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App* app, std::string name) const override {
        std::string usage = CLI::Formatter::make_usage(app, std::move(name));
        if (!runs_command(app->get_name())) return usage;
        const auto end = usage.find_last_not_of('\n');
        return usage.insert(end + 1, " -- CMD [ARG...]");
    }
};

void add_global_options(CLI::App& tool, global_options& options) {
    tool.add_option("--url", options.url, "Where the database is")->option_text("URL");
    tool.add_option("--url-file", options.url_file, "The file that says it")->option_text("F");
    tool.add_flag("--pass-url", options.passes_url, "CMD gets LEASEHOLD_URL and passwords, too");
    tool.add_flag("--json", options.is_json, "Print one JSON object per line, failures too");
    tool.add_option(
            "--table-prefix",
            options.table_prefix,
            "What table names begin with; default leasehold_"
    )
        ->option_text("P");
    tool.add_option("--schema", options.schema, "The tables' schema (PostgreSQL)")
        ->option_text("S");
    tool.add_option(
            "--bell-address", options.wakeup_address, "Where other machines send wake-ups, by UDP"
    )
        ->option_text("A");
    tool.add_flag(
        "--requires-standby",
        options.requires_standby,
        "Refuse what PostgreSQL would commit without a synchronous standby"
    );
    tool.add_flag(
        "--version", options.wants_version, "Print the version and the drivers installed"
    );
}

void read_environment(const CLI::App& tool, global_options& options) {
    const auto read = [&](const char* option, const char* variable, std::string& into) {
        if (tool.count(option) > 0) return;
        if (auto found = from_environment(variable)) into = *std::move(found);
    };
    read("--table-prefix", "LEASEHOLD_TABLE_PREFIX", options.table_prefix);
    read("--schema", "LEASEHOLD_SCHEMA", options.schema);
    read("--bell-address", "LEASEHOLD_BELL_ADDRESS", options.wakeup_address);
}

void print_version(bool is_json) {
    const std::string from = commit();
    const std::string of = from.empty() ? "" : ", commit " + from;
    print_result(
        is_json,
        {{"version", LEASEHOLD_VERSION}, {"commit", from}, {"drivers", names_of_drivers()}},
        "leasehold " LEASEHOLD_VERSION + of + " (" + names_of_drivers() + ")"
    );
}

// CLI11 collects the unknown arguments; this says why each is unknown.
void refuse_unknown(const CLI::App& tool, bool has_separator) {
    auto rest = tool.remaining(true);
    std::erase(rest, "--");  // it is listed, too
    if (rest.empty()) return;
    const auto chosen = tool.get_subcommands();
    const bool is_command_due = !chosen.empty() && runs_command(chosen.front()->get_name());
    const std::string& first = rest.front();
    if (first.starts_with('-')) {
        const std::string advice = "; a key that begins with a dash is written --key=" + first;
        throw usage_failure("there is no option " + first + (is_command_due ? advice : ""));
    }
    if (tool.get_subcommands().empty()) throw usage_failure("there is no command '" + first + "'");
    if (is_command_due && has_separator) {
        throw usage_failure(
            "'" + first + "' is not expected before `--`: the key is one word; quote it"
        );
    }
    if (is_command_due) {
        throw usage_failure(
            "'" + first + "' is not expected: put `--` between the key and the command to run"
        );
    }
    throw usage_failure("'" + first + "' is not expected here");
}

int run(const arguments& given, CLI::App& tool, global_options& options) {
    add_global_options(tool, options);
    const std::array commands{
        add_migrate(tool, options),
        add_lock(tool, options, given),
        add_elect(tool, options, given),
        add_once(tool, options, given),
        add_locks(tool, options),
        add_sessions(tool, options),
        add_runs(tool, options),
        add_history(tool, options),
        add_unlock(tool, options),
        add_job(tool, options),
        add_queue(tool, options),
        add_schedule(tool, options),
        add_work(tool, options, given),
        add_reap(tool, options),
        add_doctor(tool, options),
        add_serve(tool, options),
        add_agent(tool, options),
        add_demo(tool, options),
        add_top(tool, options),
        add_completion(tool, options),
        add_manual(tool),
        add_names(tool, options),
    };
    tool.allow_extras();
    tool.require_subcommand(0, 1);
    tool.fallthrough();
    tool.footer(std::string(tool_examples) + exit_status_help);
    tool.formatter(std::make_shared<help_format>());
    for (const command& each : commands) {
        each.parser->fallthrough();
        each.parser->formatter(tool.get_formatter());
    }
    std::vector<std::string> reversed{given.own.rbegin(), given.own.rend()};
    tool.parse(std::move(reversed));
    refuse_unknown(tool, given.has_separator);
    if (options.wants_version) {
        print_version(options.is_json);
        return exit_status::done;
    }
    if (tool.count("--url") > 0 && options.url.empty()) throw usage_failure("--url is empty");
    if (tool.count("--url-file") > 0 && options.url_file.empty()) {
        throw usage_failure("--url-file is empty");
    }
    read_environment(tool, options);
    for (const command& each : commands) {
        if (each.parser->parsed()) return each.run();
    }
    throw usage_failure("no command was given; see `leasehold --help`");
}

// Each failure ends here, as an exit status and one line.
int guarded(const arguments& given) {
    const auto fail = [&](const failure& why) {
        report(given.is_json, why);
        return why.status();
    };
    CLI::App tool{description, "leasehold"};
    global_options options;
    try {
        const int status = run(given, tool, options);
        require_written();
        return status;
    } catch (const CLI::CallForHelp& wanted) {
        const int status = tool.exit(wanted);
        return std::cout.flush() ? status : exit_status::failed;
    } catch (const CLI::ArgumentMismatch& wrong) {
        const std::string_view words = wrong.what();
        return fail(usage_failure(
            std::string(words.substr(0, words.find(':'))) + " needs exactly one value"
        ));
    } catch (const CLI::ParseError& wrong) {
        return fail(usage_failure(wrong.what()));
    } catch (const failure& failed) {
        return fail(failed);
    } catch (const error& failed) {
        return fail(failure_of(failed));
    } catch (const std::system_error& refused) {
        // The C library begins threads by clone3, and uses an older call only if the system does
        // not know clone3.
        const bool may_be_filter = refused.code() == std::errc::operation_not_permitted;
        const char* const advice =
            "; a container runtime whose seccomp filter answers clone3 with EPERM lets no thread "
            "begin: update it (Docker 20.10.10, libseccomp 2.5), or let its filter answer ENOSYS";
        return fail(
            {exit_status::failed,
             "system",
             std::string{"the system refused: "} + refused.what() + (may_be_filter ? advice : "")}
        );
    } catch (const std::exception& failed) {
        return fail({exit_status::failed, "internal", failed.what()});
    }
}

}  // namespace
}  // namespace leasehold::cli

// If the caller closed a standard descriptor, the next file or socket would get its number, and
// then receive our standard output or error.
static void open_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest that is free, which is this one.
        if (::open("/dev/null", O_RDWR) != descriptor) std::abort();  // NOLINT(*-vararg)
    }
}

int main(int count, char** values) {
    open_standard_descriptors();
    mallopt(M_ARENA_MAX, 1);  // one for each of its threads costs a short command a millisecond
    std::setlocale(LC_CTYPE, "C.UTF-8");  // for the width of characters, whatever the user's
    const auto given = leasehold::cli::take_arguments(count, values);
    return leasehold::cli::guarded(given);
}
