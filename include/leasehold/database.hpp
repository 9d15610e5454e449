#pragma once
// Reaches a database, and knows its dialect: every part of leasehold stands on this.
//
//   leasehold::database db = leasehold::postgres::open("postgresql://app@db/app");
//   leasehold::migrate(db);
//
// A bounded pool of connections and the dialect's statements behind a handle that is cheap to copy.
// Opening connects to nothing: the first use does.
//
// Promises: no call waits for a connection or an answer beyond the time-outs below. A call that has
// a deadline of its own, or can be cancelled, waits for a connection no longer than that allows
// (see connect_limits): in an outage it ends by its deadline, or at once when it is cancelled, and
// one statement time-out later if a statement was under way. A connection that broke is
// replaced; after a failure the next attempts are spaced by a jittered back-off.
// Nothing is held while waiting for a lock, and no operation needs a second connection but
// try_acquire_in(), which opens one beyond the bound rather than wait for it.
// Does not promise: to hide an outage. A call that gets no answer throws.
//
// Errors: errc::connection_failed, timed_out (no connection free in time), schema_missing and
// schema_mismatch on first use.
//
// Threads: safe, all of it; copies share one pool.
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leasehold/callable.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/observer.hpp"

namespace leasehold {

// The names of the tables: `prefix` goes before each name; on PostgreSQL they live in `schema`
// (empty: the first of the user's search path). Both: letters, digits, underscore, not starting
// with a digit, at most 30 bytes.
struct table_names {
    std::string prefix = "leasehold_";
    std::string schema{};
};

// A database handle opens, pools and gives up its connections by these settings.
struct database_settings {
    table_names names{};
    // 1 to 1000; each session keeps one more for its heartbeat, and each database handle one while
    // calls wait for keys.
    int max_connections = 8;
    std::chrono::milliseconds connect_timeout{3000};  // to get one connection open; 100 ms to 1 h
    // To get a pooled connection; 1 ms to 1 h. One that slept is asked first: if it does not
    // answer (statement_timeout at most), replacing it takes connect_timeout more.
    std::chrono::milliseconds pool_timeout{10000};
    // Per statement; 100 ms to 1 h. The end of a program in an outage takes about as long, see
    // session::end(). Raise it if a statement of your own in a `transaction` takes longer, and
    // on SQLite, where it is the wait for other writers too, if many write without a pause.
    std::chrono::milliseconds statement_timeout{3500};
    std::shared_ptr<leasehold::observer> observer{};  // nothing: see observer.hpp
    // The address to which other machines send the message that it is a waiter's turn here; with
    // one, this handle also tells waiters of other machines. An address of this machine, by number,
    // with a UDP port or without one: 192.0.2.7, [2001:db8::7]:7400. Empty: between machines the
    // database's own notifications tell of it, if it has any. A port belongs to one handle; not for
    // machines behind NAT. A message that comes in is only a hint.
    std::string wakeup_address{};
    // For a cluster that could be written to at several nodes (Galera, Group Replication with
    // several primaries): true says that all programs write to one and the same node, such as
    // through a proxy that enforces this. Then locks are those of one server. If it is not so, two
    // programs get one key.
    bool one_node_is_written_to = false;
    // PostgreSQL: true refuses each grant, run, job and heartbeat whose commit would wait for no
    // standby, because synchronous_standby_names is empty: a fail-over could undo it. The refusal
    // is transient, as an outage is: a waiter goes on waiting, and a session ends if the refusal
    // lasts longer than its ttl. A release that nobody waits for is not refused; one that hands the
    // key over is a grant. The SQL function leasehold_enqueue knows nothing of this setting. Other
    // engines: errc::unsupported at the first use.
    bool requires_standby = false;
    // The name of its connections in the server's lists, as name@host:pid: application_name on
    // PostgreSQL, program_name among the attributes on MySQL and MariaDB. Empty: the name of the
    // program. A different name in the URL or PGAPPNAME wins.
    std::string name{};
};

// The longest that one attempt to connect may take, and a request to give it up earlier: the caller
// was cancelled, or its session was lost. The driver of PostgreSQL obeys the request within moments
// (except while it looks up a host name); the client library of MySQL and MariaDB cannot be
// interrupted, and has the time alone, in whole seconds.
struct connect_limits {
    // Converts from a duration and to one: connectors that know of no requests need not.
    connect_limits(std::chrono::milliseconds time, std::stop_token request = {}) noexcept
        : timeout(time), stop(std::move(request)) {}
    operator std::chrono::milliseconds() const noexcept { return timeout; }

    std::chrono::milliseconds timeout;
    std::stop_token stop;
    // Throws if the database handle refuses a server it has been connected to: then a connector
    // that knows of several hosts asks the next. A connector with a single host need not call it.
    callable<void(connection&)> admit{};
};

// Makes one connection, within these limits. Drivers provide it; you may, too, also as a function
// of a std::chrono::milliseconds.
using connector = callable<std::unique_ptr<connection>(const connect_limits& within)>;

// The use of a pool at one moment.
struct pool_use {
    int lent = 0;  // connections lent or being opened; try_acquire_in() may lend one beyond `max`
    int idle = 0;
    int max = 0;  // max_connections
};

class transaction;

class LEASEHOLD_EXPORT database {
public:
    explicit database(connector connect, database_settings settings = {});
    // For engines whose database is a file: `create` makes what is missing, and only migrate() uses
    // it, so that nothing else leaves an empty file behind.
    database(connector connect, connector create, database_settings settings);

    // A transaction of the library's own, for programs without a client library of their own. Takes
    // one connection from the pool until it ends.
    transaction begin() const;

    // Calls body(tx) in a transaction of its own, commits it, and answers as the body did. After
    // errc::transient, such as a serialization failure or a deadlock, the transaction was undone,
    // and the body is called anew in another one after a pause, `attempts` times in all: 1 or more,
    // or this throws invalid_argument. Other errors come out at once: those of begin(), time-outs,
    // and all whose outcome_is_unknown(), because the commit may have been made. The body neither
    // ends nor moves `tx`.
    template <class Body>
    auto in_transaction(Body&& body, int attempts = 5) const;

    // One statement outside of any transaction, which commits by itself: for those that no
    // transaction takes (VACUUM, CREATE INDEX CONCURRENTLY), and for single ones. It has
    // statement_timeout; open another database with a longer one for a slow statement. Behind a
    // pooler PostgreSQL sees it in a transaction of its own all the same, and refuses those.
    // Errors: of connection.hpp; outcome_is_unknown() if its answer was lost; wrong_transaction for
    // a statement that begins or ends a transaction, such as BEGIN.
    result execute(std::string_view sql, const parameters& values = {}) const;

    // Connects if need be and describes the server.
    server_info server() const;

    // Sends nothing. The connections of heartbeats, waiters and workers do not belong to the pool.
    pool_use pool_usage() const;

    const database_settings& settings() const&;
    database_settings settings() const&& { return settings(); }

    class implementation;  // private: src/database/database.hpp
    static void require_attempts(int attempts);
    // Pauses before another attempt, if there is to be one.
    static bool may_repeat(const error& failure, int attempt, int attempts);
    const std::shared_ptr<implementation>& inner() const { return inner_; }

private:
    friend struct handle_maker;
    explicit database(std::shared_ptr<implementation> made) noexcept : inner_(std::move(made)) {}

    handle<std::shared_ptr<implementation>, "database"> inner_;
};

// A transaction the library only takes part in: it never commits, rolls back or changes settings.
// Made from a `transaction`, from any `connection`, or by leasehold::borrow(…) of a driver header.
// A reference is valid while that object is. One that borrow() made keeps the adapter, and is valid
// while the program's own connection is. One to a `transaction` knows when that has ended, and the
// calls that take the reference throw wrong_transaction then. If the transaction goes to another
// thread, make the reference anew there.
// A call that gets a transaction of another database than its own throws wrong_transaction, and
// changes nothing. There are two exceptions, in which only the engine is compared, and enqueue_in()
// and admit_in() write into the database they get: these two calls with a connection that the
// program's own client library has lent, on a server, since asking the server would take one more
// round trip in each call; and each call where several nodes of a cluster are written to.
class LEASEHOLD_EXPORT transaction_ref {
public:
    transaction_ref(connection& inside) noexcept : inside_(&inside) {}
    connection& inside() const;

private:
    friend class borrowed_connection;
    friend class transaction;
    connection* inside_;
    std::shared_ptr<connection> lent_{};               // set by borrow()
    std::optional<std::weak_ptr<const void>> open_{};  // nullopt: of the caller's own connection
};

// A connection lent by the caller's own client library; see leasehold::borrow in driver/*.hpp.
// Converts to a transaction_ref; may be a temporary: `lease->verify_in(leasehold::borrow(sql))`.
class LEASEHOLD_EXPORT borrowed_connection {
public:
    explicit borrowed_connection(std::unique_ptr<connection> adapter)
        : adapter_(std::move(adapter)) {}
    operator transaction_ref() const noexcept {
        transaction_ref made{*adapter_};
        made.lent_ = adapter_;
        return made;
    }
    connection& inside() const noexcept LEASEHOLD_LIFETIMEBOUND { return *adapter_; }

private:
    std::shared_ptr<connection> adapter_;
};

// One transaction on a pooled connection; rolls back when destroyed without commit(). PostgreSQL
// learns of it from the first statement, and never of a transaction without statements.
//
//   leasehold::transaction tx = db.begin();
//   tx.execute("UPDATE invoice SET closed = true WHERE month = $1", {"2026-10"});
//   lease->verify_in(tx);
//   tx.commit();
//
// execute() throws wrong_transaction for a statement that begins or ends a transaction, such as
// COMMIT, and sends nothing. MySQL and MariaDB commit before and after most statements that change
// tables or rights (CREATE, ALTER, DROP, GRANT …), which this does not notice: keep those out.
//
// SQLite has one writer: beside an open transaction a call of the same handle and thread that
// writes without it throws wrong_transaction, since it would wait in vain. A transaction belongs to
// the thread that used it last.
//
// Threads: one thread at a time.
class [[nodiscard]] LEASEHOLD_EXPORT transaction {
public:
    transaction(transaction&&) noexcept;
    transaction& operator=(transaction&&) noexcept;
    ~transaction();

    result execute(std::string_view sql, const parameters& values = {});
    void commit();
    void rollback() noexcept;
    // Only a named transaction converts: a temporary one rolls back before anybody uses the result.
    operator transaction_ref() &;
    operator transaction_ref() && = delete;

private:
    friend class database;
    friend class transaction_ref;
    class state;
    explicit transaction(std::unique_ptr<state> held);
    handle<std::unique_ptr<state>, "transaction"> held_;
};

template <class Body>
auto database::in_transaction(Body&& body, int attempts) const {
    require_attempts(attempts);
    for (int attempt = 1;; ++attempt) {
        transaction tx = begin();
        try {
            if constexpr (std::is_void_v<decltype(body(tx))>) {
                body(tx);
                return tx.commit();
            } else {
                auto answer = body(tx);
                tx.commit();
                return answer;
            }
        } catch (const error& failure) {
            tx.rollback();
            if (!may_repeat(failure, attempt, attempts)) throw;
        }
    }
}

}  // namespace leasehold
