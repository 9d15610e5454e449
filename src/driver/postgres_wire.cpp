#include "driver/postgres_wire.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "driver/postgres_values.hpp"

#ifndef LIBPQ_HAS_PIPELINING
#error "leasehold needs libpq 14 or newer (pipeline mode)"
#endif

namespace leasehold::postgres {
namespace {

using std::chrono::milliseconds;

// poll() does not count while the machine sleeps, our clock does: short slices catch up with it.
constexpr milliseconds max_slice{1000};
// For a wait that can be stopped. A descriptor to wake it would be another one per connection.
constexpr milliseconds max_stoppable_slice{50};

bool send(PGconn* handle, const message& what) {
    const parameters nothing;
    const bound_parameters none{nothing};
    const bound_parameters& values = what.values != nullptr ? *what.values : none;
    switch (what.kind) {
        case message_kind::query:
            return PQsendQueryParams(
                       handle,
                       what.sql,
                       values.count(),
                       values.types(),
                       values.texts(),
                       values.sizes(),
                       values.formats(),
                       0
                   ) == 1;
        case message_kind::prepare:
            return PQsendPrepare(handle, what.name, what.sql, values.count(), values.types()) == 1;
        case message_kind::execute_prepared:
            return PQsendQueryPrepared(
                       handle,
                       what.name,
                       values.count(),
                       values.texts(),
                       values.sizes(),
                       values.formats(),
                       0
                   ) == 1;
        case message_kind::script:
            return PQsendQuery(handle, what.sql) == 1;
    }
    return false;
}

// Reads while it writes: a server that is busy sending would otherwise never come to read.
exchange_end flush(PGconn* handle, local_clock::time_point until) {
    for (;;) {
        const int left = PQflush(handle);
        if (left == 0) return exchange_end::answered;
        if (left < 0) return exchange_end::lost;
        if (!wait_for_socket(PQsocket(handle), POLLIN | POLLOUT, until)) {
            return exchange_end::gave_up;
        }
        // The next read reports a broken connection.
        if (PQconsumeInput(handle) == 0) return exchange_end::answered;
    }
}

bool wait_for_result(PGconn* handle, local_clock::time_point until) {
    while (PQisBusy(handle) == 1) {
        if (!wait_for_socket(PQsocket(handle), POLLIN, until)) return false;
        // The failure is the next result; PQgetResult does not wait on a broken connection.
        if (PQconsumeInput(handle) == 0) break;
    }
    return true;
}

exchange_end collect(
    PGconn* handle,
    bool pipelined,
    local_clock::time_point until,
    const impatience* late,
    std::vector<std::vector<result_handle>>& results
) {
    std::size_t current = 0;
    bool ended_before = false;
    for (;;) {
        if (late != nullptr && !wait_for_result(handle, std::min(late->since, until))) {
            std::exchange(late, nullptr)->act();
        }
        if (!wait_for_result(handle, until)) return exchange_end::gave_up;
        result_handle next{PQgetResult(handle)};
        if (next == nullptr) {
            if (!pipelined) break;
            // Two ends in a row: a broken pipeline, which will never come to its sync.
            if (ended_before || PQstatus(handle) == CONNECTION_BAD) return exchange_end::lost;
            ended_before = true;
            ++current;
            continue;
        }
        ended_before = false;
        switch (PQresultStatus(next.get())) {
            case PGRES_COPY_IN:
            case PGRES_COPY_OUT:
            case PGRES_COPY_BOTH:
                return exchange_end::copying;
            case PGRES_PIPELINE_SYNC:
                return PQstatus(handle) == CONNECTION_OK ? exchange_end::answered
                                                         : exchange_end::lost;
            default:
                // An error of the commit itself comes after the last message's own end.
                results[std::min(current, results.size() - 1)].push_back(std::move(next));
        }
    }
    return PQstatus(handle) == CONNECTION_OK ? exchange_end::answered : exchange_end::lost;
}

}  // namespace

const PGresult* reply::failure() const noexcept {
    for (const auto& of_message : results) {
        for (const result_handle& each : of_message) {
            const ExecStatusType status = PQresultStatus(each.get());
            if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) return each.get();
        }
    }
    return nullptr;
}

bool wait_for_socket(
    int socket, short events, local_clock::time_point until, const std::stop_token& stop
) noexcept {
    if (socket < 0) return true;
    pollfd watched{socket, events, 0};
    const milliseconds longest = stop.stop_possible() ? max_stoppable_slice : max_slice;
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(until - local_clock::now());
        const auto slice = std::clamp(left, milliseconds{0}, longest);
        const int ready = ::poll(&watched, 1, static_cast<int>(slice.count()));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return true;
        if (left <= milliseconds{0} || stop.stop_requested()) return false;
    }
}

reply exchange(
    PGconn* handle,
    std::span<const message> batch,
    local_clock::time_point until,
    const impatience* late
) {
    const bool pipelined = batch.size() > 1;
    reply answer;
    answer.results.resize(batch.size());
    if (pipelined && PQenterPipelineMode(handle) != 1) return answer;
    for (const message& each : batch) {
        if (!send(handle, each)) return answer;
    }
    if (pipelined && PQpipelineSync(handle) != 1) return answer;
    answer.end = flush(handle, until);
    if (answer.end != exchange_end::answered) return answer;
    answer.end = collect(handle, pipelined, until, late, answer.results);
    if (pipelined && answer.end == exchange_end::answered && PQexitPipelineMode(handle) != 1) {
        answer.end = exchange_end::lost;
    }
    return answer;
}

}  // namespace leasehold::postgres
