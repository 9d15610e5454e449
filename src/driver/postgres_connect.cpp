#include "driver/postgres_connect.hpp"
#include "core/program_name.hpp"

#include <poll.h>

#include <new>
#include <utility>

#include "core/loopback.hpp"
#include "driver/postgres_connection.hpp"
#include "driver/postgres_errors.hpp"
#include "driver/postgres_wire.hpp"

namespace leasehold::postgres {
namespace {

using std::chrono::milliseconds;

connection_handle start(const std::vector<option>& options) {
    std::vector<const char*> keywords, values;
    for (const option& each : options) {
        keywords.push_back(each.name.c_str());
        values.push_back(each.value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    connection_handle handle{PQconnectStartParams(keywords.data(), values.data(), 1)};
    if (handle == nullptr) throw std::bad_alloc{};
    PQsetErrorVerbosity(handle.get(), PQERRORS_VERBOSE);
    return handle;
}

// Server messages that arrive before a connection object exists must not be written to standard
// error.
void ignore_notice(void*, const PGresult*) {}

// An option after "dbname" wins over the URL, one before it gives way to it; libpq treats the other
// parts (several hosts, hostaddr, service files, the environment).
std::vector<option> options_of(const std::string& url, const std::string& name) {
    return {
        {"fallback_application_name", connection_name(name)},
        {"dbname", url},
        {"client_encoding", "UTF8"}};
}

// Once a standby has refused a write, a standby is passed over if there are hosts behind it. The
// last host may be a standby, for reading.
std::optional<error> failure_at_set_up(
    owned_connection& on, handle_memory& known, local_clock::time_point until, bool has_others
) {
    try {
        on.set_up(until);
    } catch (const error& failure) {
        return failure;
    }
    if (on.is_of_the_past()) {
        error former = on.former_primary();
        known.data.tell_refusal(former.what());
        return former;
    }
    const bool is_passed_over = has_others && known.refusals.count() > 0;
    if (is_passed_over && on.was_standby()) return on.unwanted_standby();
    return std::nullopt;
}

// The error by which the database handle refuses the server; nullopt if it admits it. See
// connect_limits.
std::optional<error> refusal_of(
    owned_connection& on,
    const connect_limits& within,
    const std::string& address,
    handle_memory& known
) {
    try {
        if (within.admit) within.admit(on);
        return std::nullopt;
    } catch (const error& refused) {
        const error with_address{
            refused.code(),
            address + ": " + refused.what(),
            {.sqlstate = refused.sqlstate(), .is_passing = refused.is_transient()}};
        known.data.tell_refusal(with_address.what());
        return with_address;
    }
}

}  // namespace

dialled dial(
    const std::vector<option>& options, local_clock::time_point until, const std::stop_token& stop
) {
    dialled made{start(options)};
    PGconn* const on = made.handle.get();
    PQsetNoticeReceiver(on, &ignore_notice, nullptr);
    made.all = hosts_of(on);
    made.until = until;
    host_turn turn{made.all, until};
    PostgresPollingStatusType next =
        PQstatus(on) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED && !made.failure) {
        const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        made.until = turn.end(on);
        if (wait_for_socket(PQsocket(on), events, made.until, stop)) {
            next = PQconnectPoll(on);
        } else {
            made.failure = connect_timeout_error(on);
        }
    }
    if (made.failure) return made;
    const bool is_bad = next == PGRES_POLLING_FAILED || PQsetnonblocking(on, 1) != 0;
    if (is_bad) made.failure = connect_error(on);
    PQsetErrorVerbosity(on, PQERRORS_DEFAULT);
    return made;
}

conninfo info_of(const PGconn* of) {
    conninfo all{PQconninfo(const_cast<PGconn*>(of)), &PQconninfoFree};
    if (all == nullptr) throw std::bad_alloc{};
    return all;
}

std::string text_or_none(const char* text) {
    return text == nullptr ? "" : text;
}

std::vector<option> options_of_host(const PGconn* of) {
    std::vector<option> options;
    const conninfo all = info_of(of);
    for (const PQconninfoOption* each = all.get(); each->keyword != nullptr; ++each) {
        if (each->val != nullptr) options.push_back({each->keyword, each->val});
    }
    options.push_back({"host", text_or_none(PQhost(of))});
    options.push_back({"hostaddr", text_or_none(PQhostaddr(of))});
    options.push_back({"port", text_or_none(PQport(of))});
    options.push_back({"password", text_or_none(PQpass(of))});
    options.push_back({"target_session_attrs", "any"});
    return options;
}

transport transport_of(const PGconn* handle) {
    const std::string host = text_or_none(PQhost(handle));
    const std::string address = text_or_none(PQhostaddr(handle));
    const bool is_socket = host.empty() || host.front() == '/' || host.front() == '@';
    if (is_loopback(address.empty() ? host : address)) return transport::local;
    if (address.empty() && is_socket) return transport::local;
    if (PQgssEncInUse(const_cast<PGconn*>(handle)) == 1) return transport::verified;  // by Kerberos
    if (PQsslInUse(const_cast<PGconn*>(handle)) == 0) return transport::clear;
    const conninfo all = info_of(handle);
    for (const PQconninfoOption* each = all.get(); each->keyword != nullptr; ++each) {
        if (std::string_view{each->keyword} != "sslmode") continue;
        const std::string mode = text_or_none(each->val);
        if (mode == "verify-ca" || mode == "verify-full") return transport::verified;
    }
    return transport::unverified;
}

// If a host cannot be reached or takes no writes libpq asks the next one; if a host does not answer
// in its part of the time, or is a former primary, this function does.
//
// One thing here may take longer than the timeout: libpq looks host names up by getaddrinfo(),
// which cannot be bounded. Addresses, or `hostaddr`, avoid it.
std::unique_ptr<connection> connect(
    const std::string& url,
    milliseconds statement_timeout,
    const connect_limits& within,
    const std::shared_ptr<handle_memory>& known,
    const std::string& name
) {
    const auto until = local_clock::now() + within.timeout;
    std::vector<option> options = options_of(url, name);
    ask_in_turn(options, known->order.now());
    std::optional<error> of_former;
    std::string silent;
    for (;;) {
        dialled made = dial(options, until, within.stop);
        known->order.learn(made.all);
        const PGconn* const on = made.handle.get();
        const hosts behind = hosts_behind(made.all, on);
        const std::string address = address_of(on);
        std::optional<error> failure = std::move(made.failure);
        if (!failure) {
            auto ours = std::make_unique<owned_connection>(
                std::move(made.handle), statement_timeout, known
            );
            failure = failure_at_set_up(*ours, *known, made.until, !behind.empty());
            if (ours->is_of_the_past()) of_former = failure;
            if (!failure) {
                failure = of_former = refusal_of(*ours, within, address, *known);
            }
            if (!failure) {
                // A question of the handle's may have lost the connection, and freed what `on` is.
                const bool is_there = ours->state() != connection_state::lost;
                if (is_there) known->order.note(on, !silent.empty());
                return ours;
            }
        }
        const bool is_over = local_clock::now() >= until || within.stop.stop_requested();
        if (behind.empty() || is_over || !failure->is_transient()) {
            throw of_former ? *of_former : with_silent_hosts(*failure, silent);
        }
        if (local_clock::now() >= made.until) silent += (silent.empty() ? "" : ", ") + address;
        ask_in_turn(options, behind);
    }
}

}  // namespace leasehold::postgres
