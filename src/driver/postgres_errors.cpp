#include "driver/postgres_errors.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/outcome.hpp"
#include "driver/postgres_classify.hpp"
#include "driver/postgres_server.hpp"

namespace leasehold::postgres {
namespace {

std::string field_of(const PGresult* failure, int field) {
    const char* text = failure == nullptr ? nullptr : PQresultErrorField(failure, field);
    return text == nullptr ? std::string{} : std::string{text};
}

error_facts facts_of(const PGresult* failure) {
    return {
        .sqlstate = field_of(failure, PG_DIAG_SQLSTATE),
        .server_message = field_of(failure, PG_DIAG_MESSAGE_PRIMARY)};
}

std::string in_brackets(const std::string& sqlstate) {
    return " (SQLSTATE " + sqlstate + ")";
}

// Names of constraints and tables are the schema's, not the user's data.
std::string what_refused(const PGresult* failure) {
    const std::string constraint = field_of(failure, PG_DIAG_CONSTRAINT_NAME);
    const std::string table = field_of(failure, PG_DIAG_TABLE_NAME);
    const std::string column = field_of(failure, PG_DIAG_COLUMN_NAME);
    std::string text;
    if (!constraint.empty()) text += " by constraint \"" + constraint + "\"";
    if (!column.empty()) text += " for its column \"" + column + "\"";
    if (!table.empty()) text += " in table \"" + table + "\"";
    return text;
}

// Only a message of the server itself: a function of the user's own may raise the same code, with
// user data.
std::string words_of_the_rights_check(const PGresult* failure) {
    const bool is_of_server = field_of(failure, PG_DIAG_SOURCE_FUNCTION).starts_with("aclcheck_");
    return is_of_server ? field_of(failure, PG_DIAG_MESSAGE_PRIMARY) : "";
}

std::string why_read_only(const PGconn* on, const std::string& state, bool is_standby) {
    if (is_standby) {
        return " is a standby, which takes no changes" + in_brackets(state) +
               ": connect to the primary; of several hosts in a URL "
               "target_session_attrs=read-write "
               "finds it";
    }
    if (reported(on, "default_transaction_read_only") == "on") {
        return " takes no changes here" + in_brackets(state) +
               ": set default_transaction_read_only = off for this user or database";
    }
    return " takes no changes here" + in_brackets(state) +
           ": connect to the primary, or use a transaction that may write";
}

std::string sentence_of(errc code, const PGresult* failure, const std::string& state) {
    switch (code) {
        case errc::transient:
            if (state == "40P01") return " ended a deadlock at this statement" + in_brackets(state);
            if (state == "55P03") return " gave up waiting for a lock" + in_brackets(state);
            return " could not serialize this transaction" + in_brackets(state) + "; run it again";
        case errc::timed_out:
            return " cancelled a statement, by its statement_timeout or by hand" +
                   in_brackets(state) +
                   ": it was slow, or waited for a lock of another transaction, which may be "
                   "waiting for a standby itself";
        case errc::constraint:
            return " refused a row" + what_refused(failure) + in_brackets(state);
        case errc::schema_missing:
            return " has no such table or schema" + in_brackets(state) +
                   ": if it is leasehold's, run `leasehold migrate`, or check the table prefix, "
                   "the schema and the search path";
        case errc::schema_mismatch:
            return " has no such column" + in_brackets(state) +
                   ": in a table of leasehold's, is the schema the one `leasehold migrate` made?";
        case errc::permission_denied:
            return " denies this user a statement" + in_brackets(state) +
                   about_a_missing_right(words_of_the_rights_check(failure));
        case errc::wrong_transaction:
            return " refused a statement in this state of the transaction" + in_brackets(state) +
                   ": roll back and start anew";
        case errc::unsupported:
            return " cannot do this" + in_brackets(state);
        default:
            if (is_exhausted_postgres(state)) {
                return " is out of disk space, memory or connections" + in_brackets(state) +
                       ": make room, and try again";
            }
            return " refused a statement" + in_brackets(state);
    }
}

// "... failed: FATAL:  28P01: password authentication failed for user "x"" and other lines. Earlier
// text may be the failures of other hosts or addresses: the last one counts.
struct connect_failure {
    std::string sqlstate;
    std::string text;
};

bool is_sqlstate(std::string_view text) {
    return text.size() == 5 && std::ranges::all_of(text, [](char each) {
               return (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z');
           });
}

constexpr std::string_view failed_marker{"failed: "};

connect_failure parse_failure(std::string_view message) {
    connect_failure parsed;
    if (const auto last = message.rfind(failed_marker); last != std::string_view::npos) {
        message.remove_prefix(last + failed_marker.size());
    }
    std::string_view line = message.substr(0, message.find('\n'));
    // The severity before the two spaces is in the server's language.
    if (const auto colon = line.find(":  "); colon != std::string_view::npos) {
        const std::string_view rest = line.substr(colon + 3);
        if (is_sqlstate(rest.substr(0, 5)) && rest.substr(5, 2) == ": ") {
            parsed.sqlstate = rest.substr(0, 5);
            line = rest.substr(7);
        }
    }
    parsed.text = line;
    return parsed;
}

// "connection to server at "db1" (10.0.0.1), port 5432 failed: …", a line for each address.
struct tried {
    std::vector<std::string> places;
    bool met_read_only = false;
};

tried parse_tried(std::string_view message) {
    tried found;
    while (!message.empty()) {
        const std::string_view line = message.substr(0, message.find('\n'));
        message.remove_prefix(std::min(message.size(), line.size() + 1));
        const auto marker = line.find(failed_marker);
        const auto quote = line.find('"');
        if (marker == std::string_view::npos || quote > marker) continue;
        const std::string_view rest = line.substr(quote + 1);
        std::string place{rest.substr(0, rest.find('"'))};
        const std::string_view words = line.substr(0, marker);
        if (const auto port = words.rfind(' ', words.size() - 2); words.find(", port ") < marker) {
            place += ":" + std::string{words.substr(port + 1, words.size() - port - 2)};
        }
        // The client library's reason, since 14 on either side, and that of its older question.
        const std::string_view why = line.substr(marker + failed_marker.size());
        const bool is_read_only =
            why == "session is read-only" || why == "server is in hot standby mode";
        found.met_read_only = found.met_read_only || is_read_only;
        place += is_read_only ? " (takes no writes)" : " (" + std::string{why} + ")";
        if (found.places.empty() || found.places.back() != place) {
            found.places.push_back(std::move(place));
        }
    }
    return found;
}

std::string user_of(const PGconn* handle) {
    const char* user = PQuser(handle);
    return user == nullptr || *user == '\0' ? std::string{"the operating system's user"}
                                            : "user " + std::string{user};
}

// libpq quotes hosts, files and users. If its message should ever contain a password, because libpq
// takes a URL apart in another way, the message is left out.
bool has_password(const PGconn* handle, const std::string& words) {
    const char* password = PQpass(handle);
    return password != nullptr && *password != '\0' && words.find(password) != std::string::npos;
}

std::string connect_sentence(const PGconn* handle, const connect_failure& what) {
    const std::string& state = what.sqlstate;
    if (state == "28P01") {
        return " refused the password of " + user_of(handle) + in_brackets(state) +
               ": check the URL or PGPASSFILE";
    }
    if (state == "28000") {
        return " does not let " + user_of(handle) + " in" + in_brackets(state) +
               ": check the user, TLS options and the server's pg_hba.conf";
    }
    if (state == "3D000") {
        return " has no such database" + in_brackets(state) + ": create it, or check the URL";
    }
    if (state == "53300") {
        return " has no connection left" + in_brackets(state) +
               ": raise its max_connections, or let fewer programs connect, or each less often "
               "(database_settings::max_connections)";
    }
    if (what.text.find("max_client_conn") != std::string::npos) {
        return " takes no more clients" + in_brackets(state) +
               ": raise max_client_conn of pgbouncer, or let fewer programs connect, or each less "
               "often (database_settings::max_connections)";
    }
    if (state == "57P03") {
        return " is starting up or shutting down" + in_brackets(state) + "; try again";
    }
    if (PQconnectionNeedsPassword(handle) == 1) {
        return " asks for a password of " + user_of(handle) +
               " and there is none: put it into the URL or PGPASSFILE";
    }
    std::string sentence = " cannot be reached";
    if (!state.empty()) sentence = " refused the connection" + in_brackets(state);
    if (!what.text.empty() && !has_password(handle, what.text)) sentence += ": " + what.text;
    return sentence + "; check host, port and TLS options, and that the server runs";
}

// The error if several hosts were asked and none takes writes: the last host's error alone would
// mislead.
std::optional<error> no_writable_host(const PGconn* handle) {
    const tried all = parse_tried(PQerrorMessage(handle));
    if (!all.met_read_only) return std::nullopt;
    std::string list;
    for (const std::string& each : all.places) list += (list.empty() ? "" : ", ") + each;
    std::string message = "PostgreSQL: no host of the URL takes writes";
    if (!has_password(handle, list)) message += ": " + list;
    message += "; is the primary among them, and does it run? (target_session_attrs chooses)";
    // One of them may be promoted.
    return error{errc::connection_failed, message, {.is_passing = true}};
}

}  // namespace

std::string address_of(const PGconn* handle) {
    const auto text_or = [](const char* text, const char* otherwise) {
        return std::string{text == nullptr || *text == '\0' ? otherwise : text};
    };
    return "PostgreSQL at " + text_or(PQhost(handle), "its default host") + ":" +
           text_or(PQport(handle), "5432") + "/" + text_or(PQdb(handle), "");
}

std::string sqlstate_of(const PGresult* failure) {
    return field_of(failure, PG_DIAG_SQLSTATE);
}

error statement_error(
    const PGconn* on, const std::string& address, const PGresult* failure, bool is_known_standby
) {
    error_facts facts = facts_of(failure);
    errc code = classify_postgres(facts.sqlstate);
    // The connection still stands, so this was a complaint: class 08 has "protocol violation" for
    // a wrong number of parameters, and 53300 also means a role's limit inside a statement.
    if (code == errc::connection_lost || code == errc::connection_failed) {
        code = errc::database_error;
    }
    // The server reports this of itself since 14.
    const bool is_standby =
        code == errc::read_only && (is_known_standby || reported(on, "in_hot_standby") == "on");
    facts.is_passing =
        is_standby || (code == errc::database_error && is_exhausted_postgres(facts.sqlstate));
    const std::string message =
        address + (code == errc::read_only ? why_read_only(on, facts.sqlstate, is_standby)
                                           : sentence_of(code, failure, facts.sqlstate));
    return error{code, message, std::move(facts)};
}

error lost_error(const std::string& address, const PGresult* failure, bool outcome_unknown) {
    error_facts facts = facts_of(failure);
    facts.outcome_unknown = outcome_unknown;
    std::string message = address + " closed the connection, or it broke";
    if (!facts.sqlstate.empty()) message += in_brackets(facts.sqlstate);
    message += outcome_unknown ? ": what was under way may have been done; ask before repeating it"
                               : ": nothing that was under way took effect; connect again";
    return error{errc::connection_lost, message, std::move(facts)};
}

error gave_up_error(
    const std::string& address, std::chrono::milliseconds limit, bool outcome_unknown
) {
    return error{
        errc::timed_out,
        address + " did not answer within " + std::to_string(limit.count()) + " ms: " +
            (outcome_unknown ? "what was under way may have been done; ask before repeating it"
                             : "the transaction will not be committed; connect again"),
        {.outcome_unknown = outcome_unknown}};
}

error connect_error(const PGconn* handle) {
    if (auto none = no_writable_host(handle)) return *std::move(none);
    const connect_failure what = parse_failure(PQerrorMessage(handle));
    // Refused by libpq before it asked anybody: the value of an option.
    const bool is_of_url = PQsocket(handle) < 0 && what.text.starts_with("invalid ");
    if (is_of_url && what.sqlstate.empty() && !has_password(handle, what.text)) {
        return error{
            errc::invalid_argument,
            "the PostgreSQL URL, or libpq's environment, cannot be used: " + what.text};
    }
    const bool is_passing =
        may_connect_later_postgres(what.sqlstate) && PQconnectionNeedsPassword(handle) == 0;
    return error{
        errc::connection_failed,
        address_of(handle) + connect_sentence(handle, what),
        // Kept apart as everywhere; libpq's own message is no server's message.
        {.sqlstate = what.sqlstate,
         .server_message = what.sqlstate.empty() ? "" : what.text,
         .is_passing = is_passing}};
}

error connect_timeout_error(const PGconn* handle) {
    return error{
        errc::connection_failed,
        address_of(handle) + " let no connection be made in time: check host, port and firewall",
        {.is_passing = true}};
}

error with_silent_hosts(const error& failure, const std::string& silent) {
    if (silent.empty()) return failure;
    const std::string words = "; before that, no answer came in time from " + silent;
    return reworded(failure, failure.what() + words, false);
}

error former_primary_error(const std::string& address, std::int64_t timeline, std::int64_t newest) {
    return error{
        errc::connection_failed,
        address + " is a former primary: it goes on with timeline " + std::to_string(timeline) +
            ", and this program has already used timeline " + std::to_string(newest) +
            " of the same database, on a standby that was promoted. Stop it, or make it a standby "
            "of that one",
        {.is_passing = true}};
}

error standby_error(const std::string& address) {
    return error{
        errc::connection_failed,
        address +
            " is a standby, and a change was refused: a fail-over is in progress, or what "
            "leads here does not follow the primary",
        {.is_passing = true}};
}

error set_up_error(const std::string& address, const PGresult* failure) {
    error_facts facts = facts_of(failure);
    facts.is_passing = true;
    std::string message = address + " let us in and then refused to work";
    if (!facts.sqlstate.empty()) message += in_brackets(facts.sqlstate);
    if (!facts.server_message.empty()) message += ": " + facts.server_message;
    return error{errc::connection_failed, message, std::move(facts)};
}

}  // namespace leasehold::postgres
