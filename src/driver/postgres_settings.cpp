#include "driver/postgres_settings.hpp"

#include <array>

namespace leasehold::postgres {
namespace {

struct setting {
    std::string_view name;
    std::string_view value;
};

// We went through all that a user, a role or a database can set in PostgreSQL 15;
// tests/fault/settings_test.cpp has a row for each that can be hostile. Missing here are settings
// that our statements do not depend on (search_path, except for names without a schema, DateStyle,
// TimeZone, bytea_output), settings that they give themselves (synchronous_commit, isolation), and
// those that are refused by an error (default_transaction_read_only, row_security).
//
// client_min_messages: "cancelled the wait for the standby" is a WARNING, and alone tells a
//     commit which a fail-over may undo from one it may not
// extra_float_digits: real numbers would be rounded
// standard_conforming_strings: a backslash in a literal would mean something else
// jit: compiling takes longer than any statement of ours runs
// plan_cache_mode: with custom plans only each statement would be planned each time
constexpr std::array pinned{
    setting{"client_min_messages", "notice"},
    setting{"extra_float_digits", "1"},
    setting{"standard_conforming_strings", "on"},
    setting{"jit", "off"},
    setting{"plan_cache_mode", "auto"},
};

// The planner believes that a table which was empty, or had a row, when it was looked at fits on a
// page. It then prefers to read all of it, and to sort, over any index, whatever the statement
// says; a cached plan keeps that until the next ANALYZE. An index serves each statement of ours, so
// these leave the planner indexes alone. A transaction of the caller has other statements, too, and
// has the values that its role gives; its statements of ours have plans of their own.
constexpr std::array planning{
    setting{"enable_seqscan", "off"},
    setting{"enable_bitmapscan", "off"},
};

std::string in_quotes(std::string_view plain) {
    return "'" + std::string{plain} + "'";
}

// Servers that do not know the name have no such limit. Values have a unit, "90s", as those of
// intervals do.
std::string raised_column(std::string_view name, const std::string& least_ms) {
    const std::string quoted = in_quotes(name);
    return ", CASE WHEN NOT is_shared AND current_setting(" + quoted +
           ", true)::interval BETWEEN '1 us' AND (" + least_ms +
           " || ' ms')::interval THEN set_config(" + quoted + ", " + least_ms + ", false) END";
}

}  // namespace

std::string pinned_columns(std::string_view is_local) {
    std::string text;
    const auto add = [&](const setting& each) {
        text += ", set_config(" + in_quotes(each.name) + ", " + in_quotes(each.value) + ", " +
                std::string{is_local} + ")";
    };
    for (const setting& each : pinned) add(each);
    for (const setting& each : planning) add(each);
    return text;
}

std::array<const char*, 2> caller_planning() {
    return {"SET LOCAL enable_seqscan = DEFAULT", "SET LOCAL enable_bitmapscan = DEFAULT"};
}

std::string pinned_statements(bool is_callers) {
    std::string text;
    const auto add = [&](const setting& each) {
        text += "; SET LOCAL " + std::string{each.name} + " = " + in_quotes(each.value);
    };
    for (const setting& each : pinned) add(each);
    if (is_callers) return text;
    for (const setting& each : planning) add(each);
    return text;
}

std::string origin_words(set_up_question how) {
    const std::string server =
        how == set_up_question::all
            ? "(pg_control_system()).system_identifier::text"
            : "coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'local')";
    return "date_part('epoch', pg_postmaster_start_time())::text || ' ' || " + server;
}

std::string set_up_text(set_up_question how) {
    std::string asked;
    if (how != set_up_question::settings_alone) {
        asked += ", pg_is_in_recovery() AS is_standby, " + origin_words(how) + " AS origin";
    }
    // The timeline that is written now: the control file has it only after a checkpoint.
    if (how == set_up_question::all) {
        asked +=
            ", (pg_control_system()).system_identifier::text AS system,"
            " CASE WHEN NOT pg_is_in_recovery()"
            " THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline";
    }
    return "WITH session AS MATERIALIZED (SELECT pg_backend_pid() <> $1::int AS is_shared)"
           " SELECT is_shared,"
           " set_config('default_transaction_isolation', 'read committed', is_shared),"
           " set_config('statement_timeout', $2, is_shared),"
           " set_config('lock_timeout', $2, is_shared),"
           " CASE WHEN $3::int = 1"
           " AND current_setting('client_connection_check_interval', true) IS NOT NULL"
           " THEN set_config('client_connection_check_interval', '1000', is_shared) END"
           " IS NOT NULL AS checks_client" +
           asked + pinned_columns("is_shared") +
           raised_column("idle_in_transaction_session_timeout", "$2") +
           raised_column("transaction_timeout", "$2") +
           raised_column("idle_session_timeout", "'3600000'") + " FROM session";
}

}  // namespace leasehold::postgres
