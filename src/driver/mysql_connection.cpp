#include "driver/mysql_connection.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "core/broken_pipe.hpp"
#include "core/loopback.hpp"
#include "core/statement_words.hpp"
#include "driver/mysql_classify.hpp"
#include "driver/mysql_exchange.hpp"
#include "driver/mysql_left.hpp"
#include "driver/mysql_settings.hpp"
#include "driver/mysql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int lock_wait = 1205;  // ER_LOCK_WAIT_TIMEOUT

bool commits(std::string_view statement) {
    return step_of(statement) == transaction_step::commits;
}

// The transport that was asked for. The doctor asks whether a server that may leave out encryption
// does so.
transport transport_to(const address& to) {
    if (!to.socket.empty() || is_loopback(to.host)) return transport::local;
    if (to.tls == tls_mode::disabled) return transport::clear;
    return to.tls >= tls_mode::verify_authority ? transport::verified : transport::unverified;
}

}  // namespace

failure failure_of(const sql::SQLException& said) {
    return {said.getErrorCode(), said.getSQLState(), said.what()};
}

std::string title_of(engine which) {
    return which == engine::mariadb ? "MariaDB" : "MySQL";
}

server_info server_from(const std::string& version_text) {
    std::string_view text{version_text};
    // MariaDB says this first to clients that take "10" for less than "5" (MDEV-4088).
    constexpr std::string_view disguise{"5.5.5-"};
    if (text.substr(0, disguise.size()) == disguise) text.remove_prefix(disguise.size());
    server_info found;
    found.version_text = text;
    found.engine = text.find("MariaDB") == std::string_view::npos ? engine::mysql : engine::mariadb;
    int parts[] = {0, 0, 0};
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (int& part : parts) {
        const auto [stop, failure] = std::from_chars(at, end, part);
        if (failure != std::errc{} || stop == end || *stop != '.') break;
        at = stop + 1;
    }
    found.version = parts[0] * 10000 + parts[1] * 100 + parts[2];
    return found;
}

time_limits::time_limits(milliseconds limit)
    : lock_wait(std::max(duration_cast<seconds>(limit), seconds{1})),
      statement(std::max(limit, milliseconds{1})) {
    if (limit >= seconds{1}) statement = lock_wait + milliseconds{250};
}

seconds read_timeout_for(milliseconds limit) {
    return duration_cast<seconds>(limit) + seconds{1};
}

owned_connection::owned_connection(
    std::unique_ptr<sql::Connection> handle,
    const address& to,
    milliseconds statement_timeout,
    std::shared_ptr<standby_refusals> refusals
)
    : handle_(std::move(handle)),
      place_("MySQL at " + place_of(to)),
      refusals_(std::move(refusals)),
      refusals_seen_(refusals_->count()),
      read_timeout_(read_timeout_for(statement_timeout)),
      limits_(statement_timeout) {}

owned_connection::~owned_connection() {
    announce_thread();
    const broken_pipe_guard guard;
    handle_.reset();  // says goodbye to the server
}

// A connection from before a server refused a change as a standby is not used again.
connection_state owned_connection::state() noexcept {
    const bool is_of_demoted = refusals_->count() != refusals_seen_;
    if (state_ == connection_state::idle && is_of_demoted) return connection_state::lost;
    return state_;
}

std::unique_ptr<left_work> owned_connection::left() const {
    if (!given_up_) return nullptr;
    return left_statement(number_, server_place_, made_, *given_up_);
}

void owned_connection::set_up(const address& to) {
    const result said = run(first_question);
    const row& first = said.rows.at(0);
    server_ = server_from(first.text("server_version"));
    server_.transport = transport_to(to);
    rolls_back_on_timeout_ = first.integer("rolls_back") != 0;
    number_ = first.integer("connection_number");
    server_place_ = first.text("server_place");
    place_ = title_of(server_.engine) + " at " + place_of(to);
    const bool is_mariadb = server_.engine == engine::mariadb;
    if (server_.version < (is_mariadb ? 100600 : 80001)) {
        throw error{
            errc::unsupported,
            place_ + " is too old (" + server_.version_text +
                "): leasehold needs MySQL 8.0.1 or MariaDB 10.6"};
    }
    const std::int64_t max_allowed_packet = first.integer("max_allowed_packet");
    if (max_allowed_packet < max_allowed_packet_min) {
        throw error{
            errc::unsupported,
            place_ + " takes no statement longer than " + std::to_string(max_allowed_packet) +
                " bytes: set its max_allowed_packet to " + std::to_string(max_allowed_packet_min) +
                " or more"};
    }
    if (to.tls == tls_mode::required) require_tls();
    // ROLLBACK because the server's init_connect may have left a transaction open.
    //
    // SET NAMES although Connector/C++ has asked for utf8mb4: libmariadb then names MariaDB's
    // default collation to MySQL too, and ordinary literals would not compare with ours there
    // (error 1267).
    const std::string settings = pinned_settings(server_.engine, first);
    run(
        {"ROLLBACK AND NO CHAIN NO RELEASE",
         "SET NAMES utf8mb4",
         "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
         settings,
         limits_text(limits_)}
    );
}

// Connector/C++ 1.1 goes on in plain text when a server offers no TLS, whatever mode was set; so
// this checks afterwards. That costs no safety: without a look at the certificate anybody who can
// strip TLS from a connection can also pretend to speak it.
void owned_connection::require_tls() {
    const result said = run("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    if (!said.rows.empty() && !said.rows[0].text("Value").empty()) return;
    throw error{
        errc::connection_failed,
        place_ +
            " does not encrypt, which ssl-mode=REQUIRED asks for: switch TLS on there, or use "
            "another ssl-mode"};
}

void owned_connection::require_open() const {
    if (state_ != connection_state::lost) return;
    throw error{errc::connection_lost, place_ + ": the connection is lost; connect again"};
}

result owned_connection::execute(std::string_view sql, const parameters& values) {
    require_open();
    if (has_second(sql)) refuse_second_statement();
    return run(with_literals(sql, values));
}

result owned_connection::execute_script(std::string_view sql, const parameters& values) {
    require_open();
    const std::string text = with_literals(sql, values);
    return run(statements_in(text, engine::mysql));
}

result owned_connection::run(std::string_view text) {
    return run(std::vector<std::string_view>{text});
}

result owned_connection::run(const std::vector<std::string_view>& statements) {
    if (statements.empty()) return {};
    is_untouched_ = false;
    announce_thread();
    std::string packet;
    for (const std::string_view each : statements) {
        if (!packet.empty()) packet += ';';
        packet += each;
    }
    const bool is_at_stake =
        state_ == connection_state::idle || std::ranges::any_of(statements, commits);
    const auto sent = steady_clock::now();
    std::size_t answered = 0;
    try {
        result found = exchange(*handle_, packet, statements.size(), answered);
        for (const std::string_view each : statements) follow(each);
        return found;
    } catch (const sql::SQLException& said) {
        for (std::size_t at = 0; at < answered; ++at) follow(statements[at]);
        const std::size_t failed = std::min(answered, statements.size() - 1);
        fail(failure_of(said), statements[failed], is_at_stake, sent);
    } catch (...) {
        state_ = connection_state::lost;  // out of memory: the answers are not known here
        throw;
    }
}

void owned_connection::follow(std::string_view statement) {
    switch (step_of(statement)) {
        case transaction_step::none:
            break;
        case transaction_step::begins:
            state_ = connection_state::in_transaction;
            break;
        case transaction_step::commits:
        case transaction_step::rolls_back:
            state_ = connection_state::idle;
            break;
    }
}

void owned_connection::fail(
    const failure& what, std::string_view statement, bool is_at_stake, steady_clock::time_point sent
) {
    if (breaks_connection(what.code)) {
        state_ = connection_state::lost;
        // Nothing but the clock tells our own read time-out from a connection that broke: both are
        // 2013, or under TLS 2026.
        const auto waited = steady_clock::now() - sent;
        if (waited >= read_timeout_ - milliseconds{50}) {
            given_up_ = local_clock::now();
            throw gave_up_error(place_, what, read_timeout_, is_at_stake);
        }
        throw statement_error(place_, what, is_at_stake);
    }
    // After a failed COMMIT, or if InnoDB has rolled back by itself, nothing is left to keep; the
    // explicit ROLLBACK makes sure that the server and we agree on it.
    const bool has_ended = ends_transaction(what.code) || commits(statement) ||
                           (what.code == lock_wait && rolls_back_on_timeout_);
    if (has_ended) rollback();
    if (is_standby_mysql(what.code, what.words)) refusals_->note(refusals_seen_);
    throw statement_error(place_, what, is_at_stake);
}

void owned_connection::begin() {
    require_open();
    if (state_ == connection_state::in_transaction) {
        throw error{errc::wrong_transaction, place_ + " is already in a transaction; end it first"};
    }
    // Overrides whatever somebody made of the session's level. Not sent along with the first
    // statement, since Connector/C++ would not say then how many rows that has changed.
    run(std::vector<std::string_view>{
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"});
    is_untouched_ = true;
}

void owned_connection::commit() {
    require_open();
    if (state_ != connection_state::in_transaction) {
        throw error{
            errc::wrong_transaction, place_ + " is in no transaction that could be committed"};
    }
    run("COMMIT");
}

void owned_connection::rollback() noexcept {
    is_untouched_ = false;
    if (state_ != connection_state::in_transaction) return;
    try {
        announce_thread();
        std::size_t answered = 0;
        exchange(*handle_, "ROLLBACK", 1, answered);
        state_ = connection_state::idle;
    } catch (...) {
        state_ = connection_state::lost;
    }
}

void owned_connection::set_statement_timeout(milliseconds limit) {
    require_open();
    const time_limits wanted{std::min<milliseconds>(limit, std::chrono::hours{24})};
    if (wanted == limits_) return;  // a round trip saved
    run(limits_text(wanted));
    limits_ = wanted;
}

std::string owned_connection::limits_text(const time_limits& limits) const {
    const std::string lock_wait_seconds = std::to_string(limits.lock_wait.count());
    std::string text = "SET SESSION innodb_lock_wait_timeout = " + lock_wait_seconds +
                       ", lock_wait_timeout = " + lock_wait_seconds;
    const std::string run_time = std::to_string(limits.statement.count());
    text += server_.engine == engine::mariadb ? ", max_statement_time = " + run_time + " / 1000"
                                              : ", max_execution_time = " + run_time;
    return text;
}

}  // namespace leasehold::mysql
