#pragma once
// The interface between leasehold and a client library: it sends statements.
//
// A driver implements this class once for libpq, MySQL Connector/C++, sqlite3 or SOCI; everything
// else (what to send, and what it means) is the same above it. Most programs never touch this
// class: they open a `database` and use what stands on it. Write a driver to use a client library
// of your own.
//
// Parameters are $1, $2 … on every engine, in any order and as often as they are needed; if a
// client library knows ? alone, the driver puts them in their places. A statement may have ? for
// all of them instead, but not on PostgreSQL, which has an operator of that name.
//
// | state            | execute                | begin             | commit            | rollback  |
// |------------------|------------------------|-------------------|-------------------|-----------|
// | idle             | runs and commits       | in transaction    | wrong_transaction | no effect |
// | in transaction   | runs                   | wrong_transaction | idle              | idle      |
// | failed (postgres)| wrong_transaction      | wrong_transaction | wrong_transaction | idle      |
// | lost             | connection_lost        | connection_lost   | connection_lost   | no effect |
//
// Promises: no statement blocks for longer than the statement time-out, plus one second if the
// client library cannot do better, even when the other side has vanished without a word; a call
// that gave up leaves the connection `lost`. In a script of several statements each has that time.
// A failure leaves no result undrained.
// Errors: leasehold::error. `outcome_is_unknown()` is set exactly when a statement outside a
// transaction, or a COMMIT, may have reached the server and its answer did not reach us.
//
// Threads: distinct connections, safe; one connection, one thread at a time.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "leasehold/engine.hpp"
#include "leasehold/export.hpp"
#include "leasehold/value.hpp"

namespace leasehold {

// A connection is in one of these states between two calls.
enum class connection_state { idle = 0, in_transaction = 1, failed = 2, lost = 3 };

// A wake-up sent by another connection. A hint only: it may be lost, late or spurious.
struct notification {
    std::string channel{};
    std::string payload{};
};

class LEASEHOLD_EXPORT connection {
public:
    connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    virtual const server_info& server() const noexcept = 0;

    // The state that the client library knows; sends nothing. Only a borrowed sql::Connection* with
    // autocommit on has to ask the server, in one round trip on MariaDB and two on MySQL.
    virtual connection_state state() noexcept = 0;

    // One statement. It is prepared once per connection if the server side allows that.
    virtual result execute(std::string_view sql, const parameters& values = {}) = 0;

    // Several statements separated by `;`, in order, in one round trip on servers. Stops at the
    // first that fails. Answers with the rows of the last statement that returned any.
    // Parameters are numbered across all statements; PostgreSQL takes none here.
    virtual result execute_script(std::string_view sql, const parameters& values = {}) = 0;

    // Isolates by READ COMMITTED on servers; on SQLite it takes the write lock at once (BEGIN
    // IMMEDIATE). May travel with the first statement.
    virtual void begin() = 0;
    // True when begin() began the open transaction, it may write, and nothing was sent in it yet:
    // then its level is READ COMMITTED, and needs no question to the server. False if that is
    // unknown.
    virtual bool is_untouched() const noexcept { return false; }
    virtual void commit() = 0;
    // Never throws: a connection whose rollback failed is lost, and the server rolls back itself.
    virtual void rollback() noexcept = 0;

    // Bounds every following call. At least 1 ms; a driver rounds a limit that it cannot express.
    virtual void set_statement_timeout(std::chrono::milliseconds limit) = 0;

    // For the library: a transaction that begins here is the program's own, which may keep it open
    // while it makes other calls.
    void set_is_callers(bool is_callers) noexcept { is_callers_ = is_callers; }
    bool is_callers() const noexcept { return is_callers_; }

    // True when the other side answers a trivial statement. False leaves the connection unfit.
    bool answers() noexcept;

    // Wake-ups. If can_notify() is false they do not exist, and the next three throw `unsupported`.
    virtual bool can_notify() const noexcept { return false; }
    virtual void listen(std::string_view channel);
    virtual std::optional<notification> wait_for_notification(std::chrono::milliseconds timeout);
    // The descriptor to poll(2) for reading together with others, once wait_for_notification(0) has
    // answered nullopt; -1 if there is none, and only the call itself can wait.
    virtual int notification_descriptor() const noexcept { return -1; }

private:
    bool is_callers_ = false;
};

}  // namespace leasehold
