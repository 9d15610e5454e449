// `leasehold migrate`: brings leasehold's tables to a version, shows where they stand, prints SQL.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/doctor.hpp"
#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/open.hpp"

namespace leasehold::cli {
namespace {

// A migration may take long: tables may be large, and another migrator may have the lock.
constexpr std::chrono::minutes migrate_timeout{10};

struct migrate_options {
    std::string to;  // empty: not given
    std::string from;
    bool resume = false;
    bool is_sure = false;
    bool down = false;
    std::string engine;
    std::string user;  // whose rights are to be printed
};

std::optional<int> parse_version(const std::string& text, const char* option) {
    if (text.empty()) return std::nullopt;
    int number = -1;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc{} && rest == end && number >= 0) return number;
    throw usage_failure(
        std::string(option) + " must be the number of a migration, not '" + std::string(text) + "'"
    );
}

std::string words_for(const table_names& names) {
    return printable(names.prefix) + "*" +
           (names.schema.empty() ? "" : " in schema " + printable(names.schema));
}

// There are no tables of these names, or not even a file.
bool is_missing(const database& db) {
    try {
        const auto steps = migration_status(db);
        return std::none_of(steps.begin(), steps.end(), [](const migration_step& each) {
            return each.is_applied || each.is_half_applied || !each.problem.empty();
        });
    } catch (const error& failure) {
        if (failure.code() == errc::schema_missing) return true;
        throw;
    }
}

// Warns that locks in these tables do not exclude users of the other installations.
void refuse_beside_others(const database& db, const table_names& ours) {
    constexpr std::size_t max_named = 5;
    std::string others;
    std::size_t count = 0;
    for (const installation& each : list_installations(db)) {
        if (each.is_ours) return;  // made by somebody else at this moment
        if (count++ < max_named) others += (others.empty() ? "" : ", ") + words_for(each.names);
    }
    if (count == 0) return;
    if (count > max_named) others += " and " + std::to_string(count - max_named) + " more";
    throw failure{
        exit_status::schema,
        "schema_elsewhere",
        "there are no tables " + words_for(ours) +
            " yet, but leasehold's tables stand in this "
            "database as " +
            others +
            ": to use those set --table-prefix and --schema, or "
            "LEASEHOLD_TABLE_PREFIX and LEASEHOLD_SCHEMA; to make others beside them, whose locks "
            "exclude nobody there, say --yes"};
}

void print_made(const database& db, const global_options& options) {
    if (options.is_json) return;
    table_names names{options.table_prefix, options.schema};
    for (const installation& each : list_installations(db)) {
        if (each.is_ours) names = each.names;
    }
    const std::string url = url_of(options);
    const bool is_file = driver_of(url) == "sqlite";
    const std::string place = printable(place_of(url));
    std::string line = "new: tables " + words_for(names) + " in " + place;
    if (is_file) {
        line += "; locks in it exclude the processes of this machine alone";
        // Said once, while the file is new: sessions do not repeat it.
        for (const finding& each : diagnose(db)) {
            if (each.name == "old_library") line += "; " + each.what;
        }
    }
    print_line(line);
}

void print_done(const std::vector<migration_step>& done, const char* action, bool is_json) {
    for (const migration_step& each : done) {
        print_result(
            is_json,
            {{"version", each.version}, {"name", each.name}, {"action", action}},
            std::string(action) + " migration " + std::to_string(each.version) + ", " + each.name
        );
    }
    if (done.empty() && !is_json) print_line("nothing to do");
}

// Names the migrations of a newer program; this program can work with them.
std::string newer_in(const std::vector<migration_step>& steps) {
    std::string names;
    for (const migration_step& each : steps) {
        if (!each.is_newer || !each.problem.empty()) continue;
        names +=
            (names.empty() ? "" : ", ") + std::to_string(each.version) + " " + printable(each.name);
    }
    return names;
}

int run_up(const migrate_options& chosen, const global_options& options) {
    migrate_settings settings;
    settings.to_version = parse_version(chosen.to, "--to");
    settings.resume = chosen.resume;
    const database db = open_database(options, migrate_timeout);
    const bool is_new = is_missing(db);
    if (is_new && !chosen.is_sure) refuse_beside_others(db, {options.table_prefix, options.schema});
    const auto done = migrate(db, settings);
    if (is_new && !done.empty()) print_made(db, options);
    const std::string newer = done.empty() ? newer_in(migration_status(db)) : "";
    if (!newer.empty() && !options.is_json) {
        print_line("nothing to do: the tables are newer than this program, by " + newer);
    } else {
        print_done(done, "applied", options.is_json);
    }
    return exit_status::done;
}

int run_down(const migrate_options& chosen, const global_options& options) {
    const auto to = parse_version(chosen.to, "--to");
    if (!to) {
        throw usage_failure(
            "migrate down deletes what the tables hold: say how far with --to N (0: all of them)"
        );
    }
    print_done(
        migrate_down(open_database(options, migrate_timeout), *to), "took back", options.is_json
    );
    return exit_status::done;
}

const char* state_of(const migration_step& step) {
    if (step.is_half_applied) return "half applied";
    if (step.is_newer) return "newer";
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
        "there is no engine '" + std::string(name) + "'; it is postgres, mysql, mariadb or sqlite"
    );
}

// Connects only if the URL leaves the engine open: MySQL and MariaDB share one kind of URL.
engine engine_of_url(const global_options& options) {
    const std::string_view driver = driver_of(url_of(options));
    if (driver == "mysql") return open_database(options).server().engine;
    return engine_of(std::string(driver));
}

// The library refuses an unknown version, and the message names the newest one.
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

int print_grants(
    engine which, const table_names& names, const migrate_options& chosen, bool is_json
) {
    std::string sql = grants_sql(which, names, chosen.user);
    sql.erase(sql.find_last_not_of('\n') + 1);
    print_result(is_json, {{"engine", name_of(which)}, {"user", chosen.user}, {"sql", sql}}, sql);
    return exit_status::done;
}

int run_sql(const migrate_options& chosen, bool wants_grants, const global_options& options) {
    const engine which = chosen.engine.empty() ? engine_of_url(options) : engine_of(chosen.engine);
    const table_names names{options.table_prefix, options.schema};
    if (!names.schema.empty() && which != engine::postgres) {
        throw usage_failure("--schema is for PostgreSQL; elsewhere set a --table-prefix");
    }
    if (wants_grants) return print_grants(which, names, chosen, options.is_json);
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
    print_result(
        options.is_json, {{"engine", name_of(which)}, {"from", from}, {"to", to}, {"sql", sql}}, sql
    );
    return exit_status::done;
}

void add_to(CLI::App& parser, migrate_options& chosen, const char* meaning) {
    parser.add_option("--to", chosen.to, meaning)->option_text("N");
}

constexpr const char* schema_examples =
    "Any number of processes may migrate at the same time. Only MySQL and MariaDB can have a\n"
    "half-applied migration; the command says so, and --resume repeats it. The command names\n"
    "what it makes anew. If leasehold's tables stand in the database under another prefix or\n"
    "schema, the command makes none without --yes, since locks under one name exclude nobody\n"
    "who uses another.\n"
    "\n"
    "Examples:\n"
    "  leasehold migrate                                 # up to the newest\n"
    "  leasehold migrate status                          # exit status 78 if not current\n"
    "  leasehold migrate sql --engine postgres >up.sql   # connects to nothing\n"
    "  leasehold migrate sql --grants app | psql ...     # as the owner: what programs may do\n"
    "  leasehold migrate down --to 0                     # deletes all of leasehold's tables\n"
    "\n"
    "`status` calls a migration newer if this program does not know it. Without a problem\n"
    "beside it, the program goes on.\n"
    "\n"
    "Exit status: 0; 78 if this program cannot work with the tables (also of `status`), or if\n"
    "they stand under another name; otherwise see `leasehold --help`.\n";

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
        each->add_flag(
            "--yes",
            chosen->is_sure,
            "Make new tables although others of leasehold stand in the database under another name"
        );
    }
    CLI::App* const down = parser->add_subcommand("down", "Take back what is newer than a version");
    add_to(*down, *chosen, "Down to version N; 0 deletes all tables and what they hold");
    CLI::App* const status = parser->add_subcommand("status", "Show every migration and its state");
    CLI::App* const sql = parser->add_subcommand("sql", "Print the SQL, for review or other tools");
    sql->add_option(
           "--engine", chosen->engine, "postgres, mysql, mariadb or sqlite; else the URL's"
    )
        ->option_text("E")
        ->check(CLI::IsMember(std::vector<std::string>{"postgres", "mysql", "mariadb", "sqlite"}));
    sql->add_option("--from", chosen->from, "From version N; default 0, with --down the newest")
        ->option_text("N");
    add_to(*sql, *chosen, "To version N; default the newest, with --down 0");
    sql->add_flag("--down", chosen->down, "The way back");
    CLI::Option* const grants =
        sql->add_option(
               "--grants",
               chosen->user,
               "Instead: the rights a program needs, for this user of the database; app@host on "
               "MySQL and MariaDB"
        )
            ->option_text("USER")
            ->excludes("--from", "--to", "--down");
    for (CLI::App* const each : {up, down, status, sql})
        each->fallthrough()->footer(schema_examples);

    return {parser, [chosen, down, status, sql, grants, &options] {
                if (down->parsed()) return run_down(*chosen, options);
                if (status->parsed()) return run_status(options);
                if (sql->parsed()) return run_sql(*chosen, grants->count() > 0, options);
                return run_up(*chosen, options);
            }};
}

}  // namespace leasehold::cli
