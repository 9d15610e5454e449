// `leasehold migrate`: brings leasehold's tables to a version, shows where they stand, prints SQL.
#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"

namespace leasehold::cli {
namespace {

// Tables may be large, and other migrators may be at it.
constexpr std::chrono::minutes patience{10};

struct migrate_options {
    std::string to;  // empty: not given
    std::string from;
    bool resume = false;
    bool down = false;
    std::string engine;
};

std::optional<int> parse_version(const std::string& text, const char* option) {
    if (text.empty()) return std::nullopt;
    int number = -1;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc{} && rest == end && number >= 0) return number;
    throw usage_failure(
        std::string(option) + " must be the number of a migration, not '" + printable(text) + "'"
    );
}

void print_done(const std::vector<migration_step>& done, const char* action, bool is_json) {
    for (const migration_step& each : done) {
        if (is_json) {
            print_json({{"version", each.version}, {"name", each.name}, {"action", action}});
        } else {
            print_line(std::string(action) + " " + std::to_string(each.version) + " " + each.name);
        }
    }
    if (done.empty() && !is_json) print_line("nothing to do");
}

int run_up(const migrate_options& chosen, const global_options& options) {
    migrate_settings settings;
    settings.to_version = parse_version(chosen.to, "--to").value_or(-1);
    settings.resume = chosen.resume;
    print_done(migrate(open_database(options, patience), settings), "applied", options.is_json);
    return exit_status::done;
}

int run_down(const migrate_options& chosen, const global_options& options) {
    const auto to = parse_version(chosen.to, "--to");
    if (!to) {
        throw usage_failure(
            "migrate down deletes what the tables hold: say how far with --to N (0: all of them)"
        );
    }
    print_done(migrate_down(open_database(options, patience), *to), "took back", options.is_json);
    return exit_status::done;
}

const char* state_of(const migration_step& step) {
    if (step.is_half_applied) return "half applied";
    return step.is_applied ? "applied" : "missing";
}

int run_status(const global_options& options) {
    const auto steps = migration_status(open_database(options));
    table shown_steps{{"VERSION", "NAME", "STATE", "PROBLEM"}};
    bool is_current = true;
    for (const migration_step& each : steps) {
        const bool is_right = each.is_applied && each.problem.empty();
        is_current = is_current && is_right;
        if (options.is_json) {
            print_json({
                {"version", each.version},
                {"name", each.name},
                {"state", state_of(each)},
                {"checksum", each.checksum},
                {"problem", each.problem},
            });
        }
        shown_steps.add({
            {std::to_string(each.version)},
            {printable(each.name)},
            {state_of(each), is_right ? style::plain : style::red},
            {printable(each.problem)},
        });
    }
    if (!options.is_json) shown_steps.print();
    return is_current ? exit_status::done : exit_status::schema;
}

engine engine_of(const std::string& name) {
    constexpr std::array all{engine::postgres, engine::mysql, engine::mariadb, engine::sqlite};
    for (const engine each : all) {
        if (name == name_of(each)) return each;
    }
    throw usage_failure(
        "there is no engine '" + printable(name) + "'; it is postgres, mysql, mariadb or sqlite"
    );
}

// Connects only where it must: one kind of URL serves for two engines.
engine engine_of_url(const global_options& options) {
    const std::string_view driver = driver_of(url_of(options));
    if (driver == "mysql") return open_database(options).server().engine;
    return engine_of(std::string(driver));
}

// The library refuses versions it does not know, and so says which is its newest.
int newest_version(engine which, const table_names& names) {
    int newest = 0;
    try {
        while (true) {
            migration_sql(which, names, newest, newest + 1);
            ++newest;
        }
    } catch (const error& refusal) {
        if (refusal.code() != errc::invalid_argument || newest == 0) throw;
    }
    return newest;
}

int run_sql(const migrate_options& chosen, const global_options& options) {
    const engine which = chosen.engine.empty() ? engine_of_url(options) : engine_of(chosen.engine);
    const table_names names{options.table_prefix, options.schema};
    if (!names.schema.empty() && which != engine::postgres) {
        throw usage_failure("--schema is for PostgreSQL; elsewhere set a --table-prefix");
    }
    const int newest = newest_version(which, names);
    const int from = parse_version(chosen.from, "--from").value_or(chosen.down ? newest : 0);
    const int to = parse_version(chosen.to, "--to").value_or(chosen.down ? 0 : newest);
    if (chosen.down ? to > from : to < from) {
        throw usage_failure(
            "--from " + std::to_string(from) + " --to " + std::to_string(to) +
            (chosen.down ? " goes up: leave --down out" : " goes down: add --down")
        );
    }
    std::string sql = migration_sql(which, names, from, to);
    sql.erase(sql.find_last_not_of('\n') + 1);
    if (options.is_json) {
        print_json({{"engine", name_of(which)}, {"from", from}, {"to", to}, {"sql", sql}});
    } else {
        print_line(sql);
    }
    return exit_status::done;
}

void add_to(CLI::App& parser, migrate_options& chosen, const char* meaning) {
    parser.add_option("--to", chosen.to, meaning)->option_text("N");
}

constexpr const char* schema_examples =
    "Any number of processes may do it at the same time. A half-applied migration can only be on\n"
    "MySQL and MariaDB, and says so; --resume repeats it.\n"
    "\n"
    "Examples:\n"
    "  leasehold migrate                                 # up to the newest\n"
    "  leasehold migrate status                          # exit status 78 if not current\n"
    "  leasehold migrate sql --engine postgres >up.sql   # connects to nothing\n"
    "  leasehold migrate down --to 0                     # deletes all of leasehold's tables\n"
    "\n"
    "Exit status: 0; 78 where the tables are not what this program knows (also of `status`);\n"
    "otherwise see `leasehold --help`.\n";

}  // namespace

command add_migrate(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand(
        "migrate", "Create leasehold's tables, or bring them to another version"
    );
    auto chosen = std::make_shared<migrate_options>();
    parser->require_subcommand(0, 1);
    parser->footer(schema_examples);

    CLI::App* const up = parser->add_subcommand("up", "Apply what is missing (the default)");
    for (CLI::App* const each : {parser, up}) {
        add_to(*each, *chosen, "Only up to version N");
        each->add_flag("--resume", chosen->resume, "Repeat a half-applied migration");
    }
    CLI::App* const down = parser->add_subcommand("down", "Take back what is newer than a version");
    add_to(*down, *chosen, "Down to version N; 0 deletes all tables and what they hold");
    CLI::App* const status = parser->add_subcommand("status", "Show every migration and its state");
    CLI::App* const sql = parser->add_subcommand("sql", "Print the SQL, for review or other tools");
    sql->add_option(
           "--engine", chosen->engine, "postgres, mysql, mariadb or sqlite; else the URL's"
    )
        ->option_text("E");
    sql->add_option("--from", chosen->from, "From version N; default 0, with --down the newest")
        ->option_text("N");
    add_to(*sql, *chosen, "To version N; default the newest, with --down 0");
    sql->add_flag("--down", chosen->down, "The way back");
    for (CLI::App* const each : {up, down, status, sql})
        each->fallthrough()->footer(schema_examples);

    return {parser, [chosen, down, status, sql, &options] {
                if (down->parsed()) return run_down(*chosen, options);
                if (status->parsed()) return run_status(options);
                if (sql->parsed()) return run_sql(*chosen, options);
                return run_up(*chosen, options);
            }};
}

}  // namespace leasehold::cli
