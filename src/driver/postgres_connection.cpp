#include "driver/postgres_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/postgres_errors.hpp"
#include "driver/postgres_left.hpp"
#include "driver/postgres_server.hpp"
#include "driver/postgres_settings.hpp"
#include "driver/postgres_values.hpp"

namespace leasehold::postgres {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_statements = 256;
constexpr const char* begin_sql = "BEGIN ISOLATION LEVEL READ COMMITTED";

// "Cached plan must not change result type": a table was altered meanwhile. A trigger may raise the
// same SQLSTATE, and the text is in the server's language; the name of the server's function stays.
bool is_outdated_plan(const PGresult* failure) {
    const char* from = PQresultErrorField(failure, PG_DIAG_SOURCE_FUNCTION);
    return sqlstate_of(failure) == "0A000" && from != nullptr &&
           std::string_view{from} == "RevalidateCachedQuery";
}

error run_again(const std::string& because, const std::string& sqlstate) {
    return error{
        errc::transient,
        because + " (SQLSTATE " + sqlstate + "): roll back and run the transaction again",
        {.sqlstate = sqlstate}};
}

std::string_view verb_of(const PGresult* from) {
    return PQcmdStatus(const_cast<PGresult*>(from));
}

}  // namespace

owned_connection::owned_connection(
    connection_handle handle, milliseconds statement_timeout, std::shared_ptr<handle_memory> known
)
    : handle_(std::move(handle)),
      address_(address_of(handle_.get())),
      server_(server_of(handle_.get())),
      known_(std::move(known)),
      refusals_seen_(known_->refusals.count()),
      limit_(limit_within_range(statement_timeout)),
      server_limit_(limit_) {
    server_.transport = transport_of(handle_.get());
    // Without a receiver libpq writes the server's messages to standard error.
    PQsetNoticeReceiver(handle_.get(), &owned_connection::on_notice, this);
}

void owned_connection::on_notice(void* self, const PGresult* notice) {
    static_cast<owned_connection*>(self)->note(notice);
}

void owned_connection::note(const PGresult* notice) {
    const auto field = [&](int which) {
        const char* text = PQresultErrorField(notice, which);
        return std::string_view{text == nullptr ? "" : text};
    };
    const std::string_view severity = field(PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == "FATAL" || severity == "PANIC") {
        is_closed_by_server_ = true;
        closing_facts_.sqlstate = field(PG_DIAG_SQLSTATE);
        closing_facts_.server_message = field(PG_DIAG_MESSAGE_PRIMARY);
    }
    // "Cancelled waiting for the standby": it has no SQLSTATE of its own and its text is in the
    // server's language, but the name of the server's function stays.
    if (severity == "WARNING" && field(PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN") {
        is_unreplicated_ = true;
    }
}

connection_state owned_connection::state() noexcept {
    if (handle_ == nullptr || is_closed_by_server_) return connection_state::lost;
    if (is_of_the_past()) return connection_state::lost;
    switch (PQtransactionStatus(handle_.get())) {
        case PQTRANS_IDLE:
            if (is_of_demoted()) return connection_state::lost;
            return is_begin_due_ ? connection_state::in_transaction : connection_state::idle;
        case PQTRANS_INTRANS:
            return connection_state::in_transaction;
        case PQTRANS_INERROR:
            return connection_state::failed;
        default:
            return connection_state::lost;
    }
}

// Reads unasked messages: notifications, and the good-bye of a server that shut down meanwhile.
// Finding that out before sending makes the difference between "not done" and "unknown".
bool owned_connection::poll_input() noexcept {
    if (handle_ == nullptr) return false;
    const bool is_readable = PQconsumeInput(handle_.get()) == 1;
    if (is_readable) static_cast<void>(PQisBusy(handle_.get()));  // takes apart what was read
    return is_readable && state() != connection_state::lost;
}

connection_state owned_connection::require_ready() {
    if (!poll_input()) {
        abandon();
        throw error{
            errc::connection_lost,
            address_ + " has closed the connection; connect again",
            closing_facts_};
    }
    const connection_state now = state();
    if (now == connection_state::failed) {
        throw error{
            errc::wrong_transaction,
            address_ + ": an earlier statement failed in this transaction; roll it back"};
    }
    return now;
}

std::unique_ptr<left_work> owned_connection::left() const {
    if (!given_up_) return nullptr;
    if (is_pooled_ || origin_.text.empty()) return left_behind_pooler(*given_up_);
    return left_process(left_pid_, origin_, *given_up_);
}

void owned_connection::abandon() noexcept {
    if (handle_ == nullptr) return;
    // Nothing more is sent, not even a good-bye: the other side may not be reading. The server
    // notices the closed socket by client_connection_check_interval.
    if (PQsocket(handle_.get()) >= 0) ::shutdown(PQsocket(handle_.get()), SHUT_RDWR);
    handle_.reset();
}

reply owned_connection::run(std::span<const message> batch) {
    is_unreplicated_ = false;
    reply answer = exchange(handle_.get(), batch, local_clock::now() + limit_);
    note_end(answer.end);
    return answer;
}

void owned_connection::note_end(exchange_end how) noexcept {
    if (how != exchange_end::gave_up) return;
    given_up_ = local_clock::now();
    left_pid_ = PQbackendPID(handle_.get());
}

// A commit without an answer after a part of the time waits for a standby, or the network is down.
reply owned_connection::run_committing(std::span<const message> batch) {
    is_unreplicated_ = false;
    const auto until = local_clock::now() + limit_;
    bool is_late = false;
    const impatience late{until - head_start(limit_) * 2 / 3, [&] {
                              is_late = true;
                              end_standby_wait(handle_.get(), origin_, until);
                          }};
    reply answer = exchange(handle_.get(), batch, until, &late);
    if (is_late && answer.end == exchange_end::gave_up) {
        known_->waits.add(origin_, PQbackendPID(handle_.get()));
    }
    // Counts as given up, as it would without the cancel: this server makes no progress.
    if (is_late && is_unreplicated_) answer.end = exchange_end::gave_up;
    note_end(answer.end);
    return answer;
}

reply owned_connection::run_begun(std::span<const message> batch) {
    if (!is_begin_due_) return run(batch);
    std::vector<message> all{message{message_kind::query, "", begin_sql}};
    if (is_callers()) {
        for (const char* each : caller_planning()) all.push_back({message_kind::query, "", each});
    }
    const std::size_t first = all.size();
    all.insert(all.end(), batch.begin(), batch.end());
    reply answer = run(all);
    // Otherwise BEGIN itself has failed, and the transaction is as it was. If another one of the
    // first has failed, the caller finds its error in the place of its own statement's result.
    for (std::size_t each = 0; each < first; ++each) {
        const auto& results = answer.results.front();
        const bool is_done =
            results.empty() || PQresultStatus(results.front().get()) == PGRES_COMMAND_OK;
        if (!is_done) break;
        is_begin_due_ = false;
        answer.results.erase(answer.results.begin());
    }
    return answer;
}

// A script is taken apart as a whole before any of it is run: if that fails, or BEGIN does, the
// transaction is as it was.
reply owned_connection::run_script(std::string text) {
    if (is_begin_due_) text = begin_text() + ";\n" + text;
    reply answer = run(std::array{message{message_kind::script, "", text.c_str()}});
    const auto& results = answer.results.front();
    is_begin_due_ = is_begin_due_ && answer.end == exchange_end::answered &&
                    (results.empty() || PQresultStatus(results.front().get()) != PGRES_COMMAND_OK);
    return answer;
}

void owned_connection::fail(const reply& answer, bool is_in_doubt) {
    const PGresult* failure = answer.failure();
    switch (answer.end) {
        case exchange_end::answered:
            throw statement_error(handle_.get(), address_, failure, is_refused_by_standby(failure));
        case exchange_end::gave_up:
            abandon();
            throw gave_up_error(address_, limit_, is_in_doubt);
        case exchange_end::copying:
            abandon();
            throw error{
                errc::unsupported,
                address_ + ": COPY cannot be used here; the connection was closed"};
        case exchange_end::lost:
            break;
    }
    abandon();
    throw lost_error(address_, failure, is_in_doubt);
}

void owned_connection::require_success(const reply& answer, bool is_in_doubt) {
    const bool requires_standby = is_in_doubt && std::exchange(requires_standby_, false);
    if (!answer.has_succeeded()) fail(answer, is_in_doubt);
    // The promoted server does not know of this server's grants since then.
    if (is_of_the_past()) {
        abandon();
        throw lost_error(address_, nullptr, is_in_doubt);
    }
    // Committed here, but somebody ended the wait for the standby: a fail-over may still undo it.
    // Neither "done" nor "not done" would be true. The connection itself is fine.
    if (is_unreplicated_ || (requires_standby && has_waited_for_none())) {
        throw error{
            errc::timed_out,
            address_ +
                " stopped waiting for its standby: the change is committed but a fail-over "
                "may undo it; look before repeating it",
            {.sqlstate = "01000", .outcome_unknown = true}};
    }
}

result owned_connection::execute(std::string_view sql, const parameters& values) {
    const std::string text = statement_text(sql);
    const bound_parameters bound{values};
    const connection_state before = require_ready();
    note_requirement(text);
    const bool is_idle = before == connection_state::idle;
    if (is_idle && !is_pooled_ && limit_ > server_limit_) widen_server_bounds();
    if (!is_pooled_) return execute_prepared(text, bound, is_idle);
    if (is_idle) return execute_wrapped(text, bound);
    return execute_unnamed(text, bound);
}

result owned_connection::execute_prepared(
    const std::string& sql, const bound_parameters& bound, bool is_idle
) {
    const bool is_in_doubt = is_idle || may_commit(sql);
    // A plan that the server keeps would outlive the settings that it was made under.
    const std::string key = sql + (is_callers() ? '\1' : '\0') + bound.signature();
    for (bool is_again = false;; is_again = true) {
        const auto found = statements_.find(key);
        const bool is_new = found == statements_.end();
        if (is_new && statements_.size() >= max_statements) forget_statements();
        const unsigned number = is_new ? ++statements_made_ : found->second;
        const std::string name = "leasehold_" + std::to_string(number);
        const std::array both{
            message{message_kind::prepare, name.c_str(), sql.c_str(), &bound},
            message{message_kind::execute_prepared, name.c_str(), sql.c_str(), &bound}};
        const auto batch = std::span{both}.subspan(is_new ? 0 : 1);
        const reply answer = is_idle ? run_committing(batch) : run_begun(batch);
        if (is_new && answer.end == exchange_end::answered && !answer.results[0].empty() &&
            PQresultStatus(answer.results[0][0].get()) == PGRES_COMMAND_OK) {
            statements_.emplace(key, number);
        }
        const PGresult* failure = answer.failure();
        if (answer.end == exchange_end::answered && failure != nullptr && !is_again) {
            const std::string state = sqlstate_of(failure);
            if (state == "26000" || state == "42P05") {
                // Another client's session: a pooler after all. The statement was not run.
                is_pooled_ = true;
                statements_.clear();
                if (is_idle) return execute_wrapped(sql, bound);
                throw run_again(address_ + " is a pooler that hid itself", state);
            } else if (!is_new && is_outdated_plan(failure)) {
                if (is_idle) {
                    forget_statements();
                    continue;
                }
                statements_.clear();  // the server's are deleted when there are too many
                throw run_again(
                    address_ + ": a table was altered since this statement was prepared", state
                );
            }
        }
        require_success(answer, is_in_doubt);
        return result_of(answer.results.back().at(0).get());
    }
}

result owned_connection::execute_unnamed(const std::string& sql, const bound_parameters& bound) {
    const reply answer = run(std::array{message{message_kind::query, "", sql.c_str(), &bound}});
    require_success(answer, may_commit(sql));
    return result_of(answer.results[0].at(0).get());
}

result owned_connection::execute_wrapped(const std::string& sql, const bound_parameters& bound) {
    const parameters bounds{server_bound(limit_)};
    const bound_parameters bound_limits{bounds};
    std::string limits =
        "SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true)" +
        pinned_columns("true");
    if (checks_client_) limits += ", set_config('client_connection_check_interval', '1000', true)";
    const std::array batch{
        message{message_kind::query, "", begin_sql},
        message{message_kind::query, "", limits.c_str(), &bound_limits},
        message{message_kind::query, "", sql.c_str(), &bound},
        message{message_kind::query, "", "COMMIT"}};
    const reply answer = run(batch);
    if (answer.end == exchange_end::answered) rollback();  // no effect after a commit
    require_success(answer, true);
    return result_of(answer.results[2].at(0).get());
}

result owned_connection::execute_script(std::string_view sql, const parameters& values) {
    std::string text = script_text(sql, values);
    const bool is_idle = require_ready() == connection_state::idle;
    note_requirement(text);
    const bool is_in_doubt = is_idle || may_commit(text);
    if (is_idle && is_pooled_) text = begin_text() + ";\n" + text + "\n;COMMIT";
    if (is_idle && !is_pooled_ && limit_ > server_limit_) widen_server_bounds();
    const reply answer = run_script(std::move(text));
    if (is_idle && is_pooled_ && answer.end == exchange_end::answered) rollback();
    require_success(answer, is_in_doubt);
    return last_result_of(answer.results[0]);
}

std::string owned_connection::begin_text() const {
    std::string text = begin_sql;
    if (!is_pooled_) {
        if (!is_callers()) return text;
        for (const char* each : caller_planning()) text += std::string{"; "} + each;
        return text;
    }
    const std::string bound = server_bound(limit_);
    text += "; SET LOCAL statement_timeout = " + bound + "; SET LOCAL lock_timeout = " + bound;
    if (checks_client_) text += "; SET LOCAL client_connection_check_interval = 1000";
    return text + pinned_statements(is_callers());
}

void owned_connection::begin() {
    if (require_ready() != connection_state::idle) {
        throw error{
            errc::wrong_transaction,
            address_ + ": a transaction is open already; commit it or roll it back first"};
    }
    requires_standby_ = false;
    if (!is_pooled_ && limit_ > server_limit_) widen_server_bounds();
    // Directly to a server the first statement takes BEGIN along: a round trip less.
    is_begin_due_ = !is_pooled_;
    if (is_begin_due_) return;
    const std::string text = begin_text();
    const reply answer = run(std::array{message{message_kind::script, "", text.c_str()}});
    if (answer.failure() != nullptr && answer.end == exchange_end::answered) rollback();
    require_success(answer, false);
}

// Goes by the server's reports on itself with each change, since 14. A primary does not become a
// standby, and if the default changes at this very moment nothing is in the transaction yet.
bool owned_connection::is_untouched() const noexcept {
    return is_begin_due_ && handle_ != nullptr &&
           reported(handle_.get(), "default_transaction_read_only") == "off" &&
           reported(handle_.get(), "in_hot_standby") == "off";
}

void owned_connection::commit() {
    if (require_ready() != connection_state::in_transaction) {
        throw error{errc::wrong_transaction, address_ + ": there is no transaction to commit"};
    }
    if (std::exchange(is_begin_due_, false)) return;  // nothing was sent in it
    const reply answer = run_committing(std::array{message{message_kind::script, "", "COMMIT"}});
    require_success(answer, true);
    // The server answers the COMMIT of a failed transaction in this way.
    if (verb_of(answer.results[0].at(0).get()) != "COMMIT") {
        throw error{
            errc::wrong_transaction,
            address_ + " rolled the transaction back instead of committing it; run it again"};
    }
}

void owned_connection::rollback() noexcept {
    is_begin_due_ = false;
    const connection_state before = state();
    if (before == connection_state::lost) abandon();
    if (before == connection_state::idle || before == connection_state::lost) return;
    requires_standby_ = false;
    try {
        const reply answer = run(std::array{message{message_kind::script, "", "ROLLBACK"}});
        if (answer.end == exchange_end::answered && state() == connection_state::idle) return;
    } catch (const std::bad_alloc&) {
        // Handled as any other failure: the connection is closed, and the server rolls back by
        // itself.
    }
    abandon();
}

void owned_connection::set_statement_timeout(milliseconds limit) {
    limit_ = limit_within_range(limit);
}

// A longer limit is of no use while the server keeps to the shorter one of the session. A shorter
// limit needs no statement: our own deadline comes first.
void owned_connection::widen_server_bounds() {
    const parameters values{server_bound(limit_)};
    const bound_parameters bound{values};
    const std::array batch{message{
        message_kind::query,
        "",
        "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $1, false)",
        &bound}};
    require_success(run(batch), false);
    server_limit_ = limit_;
}

void owned_connection::forget_statements() {
    require_success(run(std::array{message{message_kind::script, "", "DEALLOCATE ALL"}}), false);
    statements_.clear();
}

void owned_connection::listen(std::string_view channel) {
    if (is_pooled_) return connection::listen(channel);
    // Longer names are cut off by LISTEN and refused by pg_notify().
    constexpr std::size_t max_channel_size = 63;
    if (channel.empty() || channel.size() > max_channel_size) {
        throw error{errc::invalid_argument, "the name of a PostgreSQL channel has 1 to 63 bytes"};
    }
    static_cast<void>(require_ready());
    const std::string name = statement_text(channel);
    const std::unique_ptr<char, decltype(&PQfreemem)> quoted{
        PQescapeIdentifier(handle_.get(), name.data(), name.size()), &PQfreemem};
    if (quoted == nullptr) {
        throw error{errc::invalid_argument, "the name of a PostgreSQL channel is not UTF-8"};
    }
    require_success(run_script("LISTEN " + std::string{quoted.get()}), false);
}

int owned_connection::notification_descriptor() const noexcept {
    return is_pooled_ || handle_ == nullptr ? -1 : PQsocket(handle_.get());
}

std::optional<notification> owned_connection::wait_for_notification(milliseconds timeout) {
    if (is_pooled_) return connection::wait_for_notification(timeout);
    const auto until = local_clock::now() + std::min(timeout, limit_within_range(timeout));
    for (;;) {
        static_cast<void>(require_ready());
        const std::unique_ptr<PGnotify, decltype(&PQfreemem)> heard{
            PQnotifies(handle_.get()), &PQfreemem};
        if (heard != nullptr) return notification{heard->relname, heard->extra};
        if (!wait_for_socket(PQsocket(handle_.get()), POLLIN, until)) return std::nullopt;
    }
}

}  // namespace leasehold::postgres
