#include "driver/postgres_connect.hpp"
#include "core/program_name.hpp"

#include <poll.h>

#include <algorithm>
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

// Whatever a server says before there is a connection object must not go to standard error.
void ignore_notice(void*, const PGresult*) {}

// What follows "dbname" wins over the URL, what precedes it gives way to it; the rest (several
// hosts, hostaddr, service files, the environment) is libpq's business.
std::vector<option> options_of(const std::string& url, const std::string& name) {
    return {
        {"fallback_application_name", connection_name(name)},
        {"dbname", url},
        {"client_encoding", "UTF8"}};
}

}  // namespace

dialled dial(
    const std::vector<option>& options, local_clock::time_point until, const std::stop_token& stop
) {
    connection_handle handle = start(options);
    PGconn* const on = handle.get();
    PQsetNoticeReceiver(on, &ignore_notice, nullptr);
    if (PQstatus(on) == CONNECTION_BAD) return {std::move(handle), connect_error(on)};
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (next == PGRES_POLLING_FAILED) return {std::move(handle), connect_error(on)};
        const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (!wait_for_socket(PQsocket(on), events, until, stop)) {
            return {std::move(handle), connect_patience_error(on)};
        }
        next = PQconnectPoll(on);
    }
    PQsetErrorVerbosity(on, PQERRORS_DEFAULT);
    if (PQsetnonblocking(on, 1) != 0) return {std::move(handle), connect_error(on)};
    return {std::move(handle), std::nullopt};
}

namespace {

using conninfo = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

conninfo info_of(const PGconn* of) {
    conninfo all{PQconninfo(const_cast<PGconn*>(of)), &PQconninfoFree};
    if (all == nullptr) throw std::bad_alloc{};
    return all;
}

std::string text_or_none(const char* text) {
    return text == nullptr ? "" : text;
}

std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts{""};
    for (const char each : list) {
        if (each == ',') {
            parts.emplace_back();
        } else {
            parts.back() += each;
        }
    }
    return parts;
}

// Without the first ones.
std::string list_from(const std::vector<std::string>& parts, std::size_t first) {
    std::string list;
    for (std::size_t at = first; at < parts.size(); ++at)
        list += (at > first ? "," : "") + parts[at];
    return list;
}

// The hosts behind the one that was asked last, which libpq has asked in this order; nothing where
// there are none.
std::vector<option> hosts_behind(const PGconn* asked) {
    std::vector<std::string> hosts, addresses, ports;
    const conninfo all = info_of(asked);
    for (const PQconninfoOption* each = all.get(); each->keyword != nullptr; ++each) {
        const std::string name = each->keyword;
        if (name == "host") hosts = parts_of(text_or_none(each->val));
        if (name == "hostaddr") addresses = parts_of(text_or_none(each->val));
        if (name == "port") ports = parts_of(text_or_none(each->val));
    }
    const std::size_t count = std::max(hosts.size(), addresses.size());
    if (ports.size() == 1) ports.resize(count, ports.front());
    if (count < 2 || ports.size() != count) return {};
    constexpr const char* usual_port = "5432";
    const auto is_asked = [&](std::size_t at) {
        const bool has_name = at < hosts.size() && !hosts[at].empty();
        const std::string& host = has_name ? hosts[at] : addresses.at(at);
        const std::string port = ports[at].empty() ? usual_port : ports[at];
        return host == text_or_none(PQhost(asked)) && port == text_or_none(PQport(asked));
    };
    for (std::size_t at = 0; at + 1 < count; ++at) {
        if (!is_asked(at)) continue;
        std::vector<option> behind{{"port", list_from(ports, at + 1)}};
        if (hosts.size() == count) behind.push_back({"host", list_from(hosts, at + 1)});
        if (addresses.size() == count) behind.push_back({"hostaddr", list_from(addresses, at + 1)});
        return behind;
    }
    return {};
}

}  // namespace

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

// libpq asks the next host where one cannot be reached or takes no writes. It does not where one
// takes the connection and says nothing, as what stands before a server that is gone; and it knows
// nothing of a former primary.
//
// One thing here may take longer than the patience: libpq looks host names up by getaddrinfo(),
// which cannot be bounded. Addresses, or `hostaddr`, avoid it.
std::unique_ptr<connection> connect(
    const std::string& url,
    milliseconds statement_timeout,
    milliseconds patience,
    const std::stop_token& stop,
    const std::shared_ptr<handle_memory>& known,
    const std::string& name
) {
    const auto until = local_clock::now() + patience;
    std::vector<option> options = options_of(url, name);
    std::optional<error> of_former;
    for (;;) {
        dialled made = dial(options, until, stop);
        std::optional<error> failure = std::move(made.failure);
        std::vector<option> others = hosts_behind(made.handle.get());
        if (!failure) {
            auto ours = std::make_unique<owned_connection>(
                std::move(made.handle), statement_timeout, known
            );
            ours->set_up(until);
            if (!ours->is_of_the_past()) return ours;
            of_former = failure = ours->former_primary();
            known->data.tell_refusal(failure->what());
        }
        const bool is_over = local_clock::now() >= until || stop.stop_requested();
        if (others.empty() || is_over || !failure->is_transient()) {
            throw error{of_former ? *of_former : *failure};
        }
        for (option& each : others) options.push_back(std::move(each));
    }
}

}  // namespace leasehold::postgres
