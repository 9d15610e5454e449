#pragma once
// Private to the PostgreSQL driver: a connection of our own.
//
// Directly to a server: named statements prepared once, a session pinned to READ COMMITTED, bounds
// at the server as well as here, notifications.
// Behind a pooler nothing may rely on the session, which other clients share and change: statements
// are not named, and each one outside a transaction travels as BEGIN ISOLATION LEVEL READ
// COMMITTED, bounds for this transaction, itself, COMMIT: four messages in one round trip. Its
// price is that statements which refuse to run in a transaction (VACUUM) do not work there. The
// alternative, trusting the default isolation read once, would be wrong as soon as some other
// client's SET leaks into the shared session.
//
// Threads: one thread at a time.
#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "core/left_work.hpp"
#include "core/standby_refusals.hpp"
#include "driver/postgres_connect.hpp"
#include "driver/postgres_history.hpp"
#include "driver/postgres_hosts.hpp"
#include "driver/postgres_settings.hpp"
#include "driver/postgres_standby_wait.hpp"
#include "driver/postgres_wire.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres {

// The common knowledge of the connections of one database handle about the servers.
struct handle_memory {
    explicit handle_memory(std::function<void(const std::string&)> warn = {})
        : data(std::move(warn)) {}

    history data;
    left_waits waits{};
    host_order order{};
    standby_refusals refusals{};
};

// Connects to the first suitable host that is no former primary: see postgres_history.hpp. Throws
// connection_failed, or unsupported for a server that is too old.
std::unique_ptr<connection> connect(
    const std::string& url,
    std::chrono::milliseconds statement_timeout,
    const connect_limits& within,
    const std::shared_ptr<handle_memory>& known = std::make_shared<handle_memory>(),
    const std::string& name = {}  // see connection_name()
);

class owned_connection final : public connection, public leaves_work {
public:
    // `handle` is connected and non-blocking.
    owned_connection(
        connection_handle handle,
        std::chrono::milliseconds statement_timeout,
        std::shared_ptr<handle_memory> known = std::make_shared<handle_memory>()
    );

    // Learns the settings of the session, whether it is ours alone, and which data the server has:
    // one round trip.
    void set_up(local_clock::time_point until);

    // True when a newer timeline than this server's was seen.
    bool is_of_the_past() const noexcept;
    error former_primary() const;
    // True when the server said during set_up() that it is a standby.
    bool was_standby() const noexcept { return was_standby_; }
    error unwanted_standby() const;

    const server_info& server() const noexcept override { return server_; }
    connection_state state() noexcept override;
    result execute(std::string_view sql, const parameters& values) override;
    result execute_script(std::string_view sql, const parameters& values) override;
    void begin() override;
    bool is_untouched() const noexcept override;
    void commit() override;
    void rollback() noexcept override;
    void set_statement_timeout(std::chrono::milliseconds limit) override;
    bool can_notify() const noexcept override { return !is_pooled_; }
    void listen(std::string_view channel) override;
    std::optional<notification> wait_for_notification(std::chrono::milliseconds timeout) override;
    int notification_descriptor() const noexcept override;

    std::unique_ptr<left_work> left() const override;

    bool is_pooled() const noexcept { return is_pooled_; }

private:
    static void on_notice(void* self, const PGresult* notice);
    void note(const PGresult* notice);

    void note_place(const row& set, set_up_question asked);
    bool is_standby();
    bool is_of_demoted() const noexcept;
    // True when this server refused a change, which it then remembers.
    bool is_refused_by_standby(const PGresult* failure);
    connection_state require_ready();
    bool poll_input() noexcept;
    reply run(std::span<const message> batch);
    void note_end(exchange_end how) noexcept;
    // As run(), for a statement that commits by itself: if it waits for a standby that is gone,
    // this ends that wait before the connection is given up.
    reply run_committing(std::span<const message> batch);
    // As run(), but sends a BEGIN that is due first, and leaves its result out of the answer.
    reply run_begun(std::span<const message> batch);
    reply run_script(std::string text);
    // A statement that requires a standby fails by itself if none is named when it begins. If the
    // setting is emptied while its commit waits, the server answers as if a standby had confirmed
    // it, but hears of the new setting before it answers. So this asks before the first such
    // statement and after each commit of one: named, and then not, the commit has waited for none.
    void note_requirement(std::string_view sql);
    bool has_waited_for_none();
    // Asks whether a standby is named; nullopt: no answer.
    std::optional<bool> names_standby();
    // `is_in_doubt`: the request may have been committed when its answer does not come.
    void require_success(const reply& answer, bool is_in_doubt);
    [[noreturn]] void fail(const reply& answer, bool is_in_doubt);
    void abandon() noexcept;

    result execute_prepared(const std::string& sql, const bound_parameters& bound, bool is_idle);
    result execute_unnamed(const std::string& sql, const bound_parameters& bound);
    result execute_wrapped(const std::string& sql, const bound_parameters& bound);
    void forget_statements();
    void widen_server_bounds();
    std::string begin_text() const;

    // Constant once set up.
    connection_handle handle_;  // null: lost
    std::string address_;
    server_info server_;
    bool checks_client_ = true;  // the server can notice that we are gone (14 or newer, and Unix)

    // A primary changes its timeline only by ending.
    place_in_history place_;
    bool was_standby_ = false;
    server_origin origin_{};
    const std::shared_ptr<handle_memory> known_;
    const int refusals_seen_;
    mutable int changes_seen_ = 0;
    mutable bool is_past_ = false;

    std::optional<local_clock::time_point> given_up_{};
    int left_pid_ = 0;  // set when it was given up
    bool is_pooled_ = false;
    bool is_begin_due_ = false;  // a transaction is open here, and the server is told with the next
    std::chrono::milliseconds limit_;         // of each call, kept here
    std::chrono::milliseconds server_limit_;  // the source of the session's statement_timeout
    // The prepared statements, by text and types of parameters; the value is part of the name.
    std::unordered_map<std::string, unsigned> statements_;
    unsigned statements_made_ = 0;

    // Unasked messages of the server.
    bool is_closed_by_server_ = false;
    error_facts closing_facts_;
    bool is_unreplicated_ = false;
    bool requires_standby_ = false;  // a statement since the last commit does
    bool names_standby_ = false;     // as of the last answer
};

}  // namespace leasehold::postgres
