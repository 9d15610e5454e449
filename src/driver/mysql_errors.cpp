#include "driver/mysql_errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"
#include "core/outcome.hpp"
#include "driver/mysql_classify.hpp"

namespace leasehold::mysql {
namespace {

constexpr int at_commit = 1180;      // ER_ERROR_DURING_COMMIT
constexpr int gone_away = 2006;      // CR_SERVER_GONE_ERROR
constexpr int out_of_sync = 2014;    // CR_COMMANDS_OUT_OF_SYNC
constexpr int lost_in_query = 2013;  // CR_SERVER_LOST

// The answer to a statement from a proxy that cannot reach the server itself.
bool is_proxys_loss(int code) {
    return code == 2002 || code == 2003 || code == 3168;
}

std::string in_brackets(int code) {
    return " (error " + std::to_string(code) + ")";
}

// The number of a commit that failed because a node of a cluster gives way to the commit of another
// one: MySQL's COMMIT has an error of its own (1180), with the storage engine's number, a deadlock,
// in its message.
failure by_its_usual_number(failure what) {
    const bool is_deadlock = what.code == at_commit && what.words.find("149") != std::string::npos;
    if (is_deadlock) what.code = 1213;
    return what;
}

std::string sentence_of(errc code, const failure& what, bool outcome_unknown) {
    const std::string number = in_brackets(what.code);
    switch (code) {
        case errc::connection_lost:
            return " closed the connection, or it broke" + number +
                   (outcome_unknown
                        ? ": what was under way may have been done; ask before repeating it"
                        : ": nothing that was under way took effect; connect again");
        case errc::timed_out:
            return " stopped a statement, by its time limit or by hand" + number +
                   (outcome_unknown ? ": it may have been done; ask before repeating it" : "");
        case errc::transient:
            if (what.code == 1213) return " ended a deadlock at this transaction" + number;
            if (what.code == 1205) {
                return " gave up waiting for a row's lock" + number +
                       ": an open transaction has it, or one that cannot commit, as where a "
                       "cluster has lost its majority";
            }
            if (what.code == 1047 || what.code == 3796 || what.code == 3797) {
                return " is a node of a cluster that takes no statements now" + number +
                       ": it has lost the others' majority, or is joining them; connect to another";
            }
            return " could not do this beside other transactions" + number + "; run it again";
        case errc::constraint:
            return " refused a row by one of its constraints" + number;
        case errc::schema_missing:
            return " has no such table or database" + number +
                   ": if it is leasehold's, run `leasehold migrate`, or check the table prefix and "
                   "the URL's database";
        case errc::schema_mismatch:
            return " has no such column" + number +
                   ": in a table of leasehold's, is the schema the one `leasehold migrate` made?";
        case errc::permission_denied:
            return " denies this user a statement" + number + about_a_missing_right(what.words);
        case errc::read_only:
            if (what.code == 1290 || what.code == 1836) {
                return " takes no changes" + number +
                       ": it is read-only, as replicas are: connect to the primary";
            }
            return " takes no changes here" + number +
                   ": connect to the primary, or use a transaction that may write";
        case errc::unsupported:
            return " cannot do this" + number;
        default:
            if (what.code == 1449) {
                return " runs a trigger or view for an account that is gone" + number +
                       ": if it is of leasehold's history, run `leasehold history on` as who "
                       "migrates";
            }
            if (is_exhausted_mysql(what.code, what.words)) {
                return " is out of disk space or memory" + number + ": make room, and try again" +
                       (outcome_unknown ? "; what was under way may have been done" : "");
            }
            if (is_under_repair_mysql(what.code, what.words)) {
                return " has a table that is crashed or under repair" + number +
                       ": see its log, and have the table repaired (CHECK TABLE, REPAIR TABLE)";
            }
            if (outcome_unknown) {
                return " failed at a commit" + number +
                       ": it may have been done; ask before repeating it";
            }
            return " refused a statement" + number;
    }
}

std::string connect_sentence(const address& where, const failure& what, bool may_pass) {
    const std::string number = in_brackets(what.code);
    switch (what.code) {
        case 1045:
        case 1698:
            return " refused the password of user " + where.user + number +
                   ": check user and password of the URL, or MYSQL_PWD";
        case 1044:
            return " does not let user " + where.user + " use database " + where.database + number +
                   ": grant the right, or check the URL";
        case 1049:
            return " has no database " + where.database + number + ": create it, or check the URL";
        case 1040:
        case 1203:
        case 1226:
            return " has no connection left" + number +
                   ": raise its max_connections, or let fewer programs connect, or each less "
                   "often (database_settings::max_connections)";
        case 1104:
            return " refused the client library its first question" + number +
                   ": raise its max_join_size, or set its sql_big_selects";
        case 1129:
        case 1130:
            return " takes no connections from this host" + number +
                   ": check the accounts of the server";
        case 2002:
        case 2003:
            if (!where.socket.empty()) {
                return " cannot be reached" + number +
                       ": check the path, the rights on it, and that the server runs";
            }
            return " cannot be reached" + number +
                   ": check host, port and firewall, and that the server runs";
        case 2005:
            return " cannot be found" + number + ": its name is not known here; check the URL";
        case gone_away:
        case lost_in_query:
        case 2055:
            return " gave no answer in time, or hung up" + number +
                   ": check host, port and firewall, and that a MySQL or MariaDB server is there";
        case 2026:
            return (may_pass ? " and we were cut off while agreeing on TLS"
                             : " and we could not agree on TLS") +
                   number +
                   ": check ssl-mode, ssl-ca, ssl-cert and ssl-key, and the server's certificate";
        case 5010:
            return " asks for the password in clear, which it is not given" + number +
                   ": give user " + where.user +
                   " another way to log in, or use ssl-mode=VERIFY_IDENTITY";
        case 2058:
        case 2059:
            return " wants a way of authentication that the client library has no plugin for" +
                   number + ": install it, or give user " + where.user + " another";
        default:
            return " refused the connection" + number;
    }
}

// The client library's own messages (numbers from 2000) hold no user data, and they alone say why
// TLS or a plugin failed. If a message should contain the password after all, it is left out.
std::string words_to_show(const address& where, const failure& what) {
    const bool is_client = what.code >= 2000 && what.code < 3000;
    const bool is_safe =
        where.password.empty() || what.words.find(where.password) == std::string::npos;
    if (!is_client || !is_safe || what.words.empty()) return "";
    std::string shown = "; the client library says: " + what.words;
    std::ranges::replace(shown, '\n', ' ');
    std::ranges::replace(shown, '\r', ' ');
    return shown;
}

error_facts facts_of(const failure& what) {
    return {.sqlstate = what.sqlstate, .native_code = what.code, .server_message = what.words};
}

}  // namespace

error statement_error(const std::string& place, const failure& said, bool is_at_stake) {
    const failure what = by_its_usual_number(said);
    errc code = classify_mysql(what.code);
    if (is_proxys_loss(what.code)) {
        code = errc::connection_lost;
    } else if (code == errc::connection_failed) {
        // This connection still works: the error is about another connection, to another database
        // or of a table.
        code = what.code == 1049 ? errc::schema_missing : errc::database_error;
    }
    error_facts facts = facts_of(what);
    facts.is_passing =
        is_standby_mysql(what.code, what.words) ||
        (code == errc::database_error && (is_exhausted_mysql(what.code, what.words) ||
                                          is_under_repair_mysql(what.code, what.words)));
    // One number stands for a storage engine that refused to prepare, which is rolled back, and for
    // one that failed after the binary log, or another engine, had committed.
    const bool proves_nothing = !proves_not_done(code) || what.code == at_commit;
    // The client says 2006 when it could not hand the statement to the network: the server has not
    // got all of it, and runs nothing that is not complete.
    facts.outcome_unknown = is_at_stake && proves_nothing && what.code != gone_away;
    const std::string message = place + sentence_of(code, what, facts.outcome_unknown);
    return error{code, message, std::move(facts)};
}

error gave_up_error(
    const std::string& place, const failure& what, std::chrono::seconds waited, bool is_at_stake
) {
    error_facts facts = facts_of(what);
    facts.outcome_unknown = is_at_stake;
    const std::string message =
        place + " did not answer within " + std::to_string(waited.count()) + " s" +
        in_brackets(what.code) +
        (is_at_stake ? ": what was under way may have been done; ask before repeating it"
                     : ": the transaction will not be committed; connect again");
    return error{errc::timed_out, message, std::move(facts)};
}

error connect_error(const address& where, const failure& what) {
    error_facts facts = facts_of(what);
    facts.is_passing = may_connect_later_mysql(what.code, what.words);
    const std::string message = "MySQL at " + place_of(where) +
                                connect_sentence(where, what, facts.is_passing) +
                                words_to_show(where, what);
    return error{errc::connection_failed, message, std::move(facts)};
}

error set_up_error(const address& where, const error& cause) {
    return error{
        errc::connection_failed,
        "MySQL at " + place_of(where) + " let us in and then failed at " +
            "the settings of the session" + in_brackets(cause.native_code()) +
            ": check that it is a MySQL or MariaDB server, and healthy",
        {.sqlstate = cause.sqlstate(),
         .native_code = cause.native_code(),
         .server_message = cause.server_message(),
         .is_passing = cause.is_transient()}};
}

bool breaks_connection(int code) noexcept {
    return classify_mysql(code) == errc::connection_lost || code == out_of_sync ||
           is_proxys_loss(code);
}

bool ends_transaction(int code) noexcept {
    // Deadlock; MariaDB's snapshot conflict; InnoDB out of room for locks; deadlock in XA; a
    // cluster that rolled back while committing.
    constexpr std::array ending{1213, 1020, 1206, 1614, 3101};
    return std::ranges::find(ending, code) != ending.end();
}

}  // namespace leasehold::mysql
