#pragma once
// Private to the MySQL driver: a connection of our own.
//
// Its session is pinned to READ COMMITTED, UTC, utf8mb4, autocommit and a strict sql_mode. The
// state follows our requests and their answers: Connector/C++ shows none of the server's own
// status. It follows transactions that statements begin or end by word, but not those that DDL ends
// by itself (the server commits; state() says in_transaction until commit() or rollback()).
//
// Threads: one thread at a time.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/left_work.hpp"
#include "core/standby_refusals.hpp"
#include "driver/mysql_client.hpp"
#include "driver/mysql_errors.hpp"
#include "driver/mysql_url.hpp"
#include "leasehold/connection.hpp"

namespace leasehold::mysql {

// Connects, within `timeout` as far as Connector/C++ can bound it: whole seconds, rounded up, and
// the resolution of host names not at all. Throws connection_failed; unsupported for a server that
// is too old and for TLS that this client library cannot do.
std::unique_ptr<connection> connect(
    const address& to,
    std::chrono::milliseconds statement_timeout,
    std::chrono::milliseconds timeout,
    const std::string& name = {},  // see connection_name()
    const std::shared_ptr<standby_refusals>& refusals = std::make_shared<standby_refusals>()
);

// libmysqlclient must be told of each thread that uses it, and of its end.
void announce_thread();

failure failure_of(const sql::SQLException& said);

// "MariaDB", "MySQL".
std::string title_of(engine which);

// Reads the version text of the server: "10.11.19-MariaDB-0+deb12u1", "9.7.4-2".
server_info server_from(const std::string& version_text);

// The parts of a time-out.
//
// At the server: the wait for row and metadata locks (innodb_lock_wait_timeout, lock_wait_timeout:
// whole seconds, at least one) and the run of a statement (MariaDB's max_statement_time for any,
// MySQL's max_execution_time for SELECT alone). Seconds are cut, so that nothing lasts longer than
// was asked for; a statement's run gets a quarter of a second more than a lock's wait, because
// "gave up waiting for a lock" (1205) proves that nothing was done and "stopped" does not. Below
// one second a MySQL server still waits a whole one for a lock.
//
// In the client: Connector/C++'s read time-out, in whole seconds, for a server that has vanished:
// the next whole second after the limit. 1.1 cannot change it on an open connection
// (setClientOption("OPT_READ_TIMEOUT") is accepted and does nothing), so that it stays what the
// statement time-out of connect() made it, and set_statement_timeout() changes the server's alone.
struct time_limits {
    explicit time_limits(std::chrono::milliseconds limit);
    bool operator==(const time_limits&) const = default;

    std::chrono::seconds lock_wait;
    std::chrono::milliseconds statement;
};
std::chrono::seconds read_timeout_for(std::chrono::milliseconds limit);

class owned_connection final : public connection, public leaves_work {
public:
    owned_connection(
        std::unique_ptr<sql::Connection> handle,
        const address& to,
        std::chrono::milliseconds statement_timeout,
        std::shared_ptr<standby_refusals> refusals
    );
    ~owned_connection() override;

    // Learns of the server and sets the session up: two round trips.
    void set_up(const address& to);

    const server_info& server() const noexcept override { return server_; }
    connection_state state() noexcept override;
    result execute(std::string_view sql, const parameters& values) override;
    result execute_script(std::string_view sql, const parameters& values) override;
    void begin() override;
    bool is_untouched() const noexcept override { return is_untouched_; }
    void commit() override;
    void rollback() noexcept override;
    void set_statement_timeout(std::chrono::milliseconds limit) override;

    std::unique_ptr<left_work> left() const override;

private:
    void require_open() const;
    void require_tls();
    result run(std::string_view text);
    result run(const std::vector<std::string_view>& statements);
    void follow(std::string_view statement);
    [[noreturn]] void fail(
        const failure& what,
        std::string_view statement,
        bool is_at_stake,
        std::chrono::steady_clock::time_point sent
    );
    std::string limits_text(const time_limits& limits) const;

    std::unique_ptr<sql::Connection> handle_;
    std::string place_;
    server_info server_;
    std::int64_t number_ = 0;     // of the connection at its server
    std::string server_place_{};  // which server that is
    const local_clock::time_point made_ = local_clock::now();
    std::optional<local_clock::time_point> given_up_{};
    const std::shared_ptr<standby_refusals> refusals_;
    const int refusals_seen_;
    bool rolls_back_on_timeout_ = false;  // innodb_rollback_on_timeout: 1205 ends the transaction
    const std::chrono::seconds read_timeout_;
    time_limits limits_;  // what the server was told last
    connection_state state_ = connection_state::idle;
    bool is_untouched_ = false;
};

}  // namespace leasehold::mysql
