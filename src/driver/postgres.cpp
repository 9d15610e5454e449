#include "leasehold/driver/postgres.hpp"

#include <libpq-fe.h>

#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "core/openssl_exit.hpp"
#include "driver/postgres_connection.hpp"
#include "driver/postgres_errors.hpp"
#include "driver/postgres_server.hpp"
#include "driver/postgres_url.hpp"
#include "driver/postgres_values.hpp"
#include "driver/postgres_wire.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace postgres {
namespace {

using std::chrono::milliseconds;

// Changes libpq's flag on the caller's connection, while we need another value. After a time-out
// with unsent data left it cannot be put back, and the connection is good for closing only.
class non_blocking_guard {
public:
    explicit non_blocking_guard(PGconn* lent)
        : lent_(lent), was_non_blocking_(PQisnonblocking(lent) == 1) {
        if (!was_non_blocking_) static_cast<void>(PQsetnonblocking(lent_, 1));
    }
    non_blocking_guard(const non_blocking_guard&) = delete;
    non_blocking_guard& operator=(const non_blocking_guard&) = delete;
    ~non_blocking_guard() {
        if (!was_non_blocking_) static_cast<void>(PQsetnonblocking(lent_, 0));
    }

private:
    PGconn* lent_;
    bool was_non_blocking_;
};

// The caller's own connection. The driver leaves it as it is: no named statements, no settings, no
// end of a transaction.
//
// When a statement is given up here the caller's connection is left open with a command under way
// (PQtransactionStatus says PQTRANS_ACTIVE): the caller must close it, or read until PQgetResult
// answers with nothing. This adapter is lost from then on.
class borrowed_adapter final : public connection {
public:
    explicit borrowed_adapter(PGconn* lent)
        : lent_(lent), address_(address_of(lent)), server_(server_of(lent)) {}

    const server_info& server() const noexcept override { return server_; }

    connection_state state() noexcept override {
        if (is_given_up_ || PQstatus(lent_) != CONNECTION_OK) return connection_state::lost;
        switch (PQtransactionStatus(lent_)) {
            case PQTRANS_IDLE:
                return connection_state::idle;
            case PQTRANS_INTRANS:
                return connection_state::in_transaction;
            // The caller's own command under way: as in a failed transaction, no statement can be
            // run.
            case PQTRANS_ACTIVE:
            case PQTRANS_INERROR:
                return connection_state::failed;
            default:
                return connection_state::lost;
        }
    }

    result execute(std::string_view sql, const parameters& values) override {
        const std::string text = statement_text(sql);
        const bound_parameters bound{values};
        const reply answer = run({message_kind::query, "", text.c_str(), &bound});
        return result_of(answer.results[0].at(0).get());
    }

    result execute_script(std::string_view sql, const parameters& values) override {
        const std::string text = script_text(sql, values);
        const reply answer = run({message_kind::script, "", text.c_str()});
        return last_result_of(answer.results[0]);
    }

    void begin() override { refuse("begun"); }
    void commit() override { refuse("committed"); }
    // Cannot throw; the caller rolls back its own connection.
    void rollback() noexcept override {}

    void set_statement_timeout(milliseconds limit) override { limit_ = limit_within_range(limit); }

private:
    [[noreturn]] void refuse(const char* what) const {
        throw error{
            errc::unsupported,
            address_ + ": a borrowed connection is " + what + " only by its owner, through libpq"};
    }

    // Our texts are UTF-8, and a backslash in a literal is one.
    void require_plain_text() const {
        const std::string_view encoding = reported(lent_, "client_encoding");
        const bool is_as_stored =
            encoding == "SQL_ASCII" && reported(lent_, "server_encoding") == "UTF8";
        if (encoding != "UTF8" && !is_as_stored) {
            throw error{
                errc::unsupported,
                address_ + ": the borrowed connection's client_encoding is " +
                    std::string{encoding} + ": make it UTF8 by PQsetClientEncoding()"};
        }
        if (reported(lent_, "standard_conforming_strings") == "off") {
            throw error{
                errc::unsupported,
                address_ +
                    ": the borrowed connection's standard_conforming_strings is off, which "
                    "makes other literals of ours: set it on"};
        }
    }

    connection_state require_ready() {
        const connection_state now = state();
        if (now == connection_state::lost) {
            throw error{errc::connection_lost, address_ + ": the borrowed connection is lost"};
        }
        require_plain_text();
        if (PQpipelineStatus(lent_) != PQ_PIPELINE_OFF) {
            throw error{
                errc::wrong_transaction,
                address_ + ": the borrowed connection is in pipeline mode; leave it first"};
        }
        if (now == connection_state::failed) {
            throw error{
                errc::wrong_transaction,
                address_ +
                    ": the borrowed connection is in a failed transaction or has a command "
                    "under way; finish that first"};
        }
        return now;
    }

    reply run(const message& what) {
        const bool is_in_doubt = require_ready() == connection_state::idle || may_commit(what.sql);
        reply answer = [&] {
            const non_blocking_guard guard{lent_};
            return exchange(lent_, std::array{what}, local_clock::now() + limit_);
        }();
        if (answer.has_succeeded()) return answer;
        if (answer.end == exchange_end::answered) {
            throw statement_error(lent_, address_, answer.failure());
        }
        is_given_up_ = true;
        if (answer.end == exchange_end::gave_up) throw gave_up_error(address_, limit_, is_in_doubt);
        if (answer.end == exchange_end::copying) {
            throw error{
                errc::unsupported,
                address_ +
                    ": COPY cannot be used here; it is under way on the borrowed connection"};
        }
        throw lost_error(address_, answer.failure(), is_in_doubt);
    }

    PGconn* lent_;
    std::string address_;
    server_info server_;
    milliseconds limit_{10'000};
    bool is_given_up_ = false;
};

}  // namespace

database open(url_text url, database_settings settings) {
    return open([url = std::string{url}] { return url; }, std::move(settings));
}

database open(url_source source, database_settings settings) {
    keep_openssl_to_the_end();
    require_valid_url(source());
    const milliseconds limit = settings.statement_timeout;
    const auto warn = [told = settings.observer](const std::string& message) {
        if (told) told->on_event({event_kind::warning, "", 0, message});
    };
    const auto known = std::make_shared<handle_memory>(warn);
    connector connects = [source = std::move(source), limit, known, name = settings.name](
                             const connect_limits& within
                         ) { return connect(source(), limit, within, known, name); };
    return database{std::move(connects), std::move(settings)};
}

}  // namespace postgres

borrowed_connection borrow(pg_conn* handle) {
    if (handle == nullptr) throw error{errc::invalid_argument, "there is no PGconn to borrow"};
    return borrowed_connection{std::make_unique<postgres::borrowed_adapter>(handle)};
}

}  // namespace leasehold
