#include <poll.h>

#include <array>
#include <new>

#include "driver/postgres_connection.hpp"
#include "driver/postgres_errors.hpp"

namespace leasehold::postgres {
namespace {

using std::chrono::milliseconds;

connection_handle start(const std::string& url) {
    // What follows "dbname" wins over the URL, what precedes it gives way to it; the rest (several
    // hosts, hostaddr, service files, the environment) is libpq's business.
    const std::array<const char*, 4> keywords{
        "fallback_application_name", "dbname", "client_encoding", nullptr};
    const std::array<const char*, 4> values{"leasehold", url.c_str(), "UTF8", nullptr};
    connection_handle handle{PQconnectStartParams(keywords.data(), values.data(), 1)};
    if (handle == nullptr) throw std::bad_alloc{};
    PQsetErrorVerbosity(handle.get(), PQERRORS_VERBOSE);
    return handle;
}

// Whatever a server says before there is a connection object must not go to standard error.
void ignore_notice(void*, const PGresult*) {}

}  // namespace

// One thing here may take longer than the patience: libpq looks host names up by getaddrinfo(),
// which cannot be bounded. Addresses, or `hostaddr`, avoid it.
std::unique_ptr<connection> connect(
    const std::string& url,
    milliseconds statement_timeout,
    milliseconds patience,
    const std::stop_token& stop
) {
    const auto until = local_clock::now() + patience;
    connection_handle handle = start(url);
    PQsetNoticeReceiver(handle.get(), &ignore_notice, nullptr);
    if (PQstatus(handle.get()) == CONNECTION_BAD) throw connect_error(handle.get());
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (next == PGRES_POLLING_FAILED) throw connect_error(handle.get());
        const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (!wait_for_socket(PQsocket(handle.get()), events, until, stop)) {
            throw connect_patience_error(handle.get());
        }
        next = PQconnectPoll(handle.get());
    }
    PQsetErrorVerbosity(handle.get(), PQERRORS_DEFAULT);
    if (PQsetnonblocking(handle.get(), 1) != 0) throw connect_error(handle.get());
    auto made = std::make_unique<owned_connection>(std::move(handle), statement_timeout);
    made->set_up(until);
    return made;
}

}  // namespace leasehold::postgres
