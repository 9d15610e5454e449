#include "jobs/enqueue.hpp"

#include <algorithm>

#include "jobs/job_store.hpp"
#include "jobs/needs.hpp"
#include "leasehold/connection.hpp"

namespace leasehold {
namespace {

constexpr std::size_t max_statement_bytes = std::size_t{1} << 20;

// The number of jobs, from `first` on, that one statement takes; at least one.
std::size_t part_of(const std::vector<new_job>& what, std::size_t first) {
    std::size_t count = 0, bytes = 0;
    while (first + count < what.size() && count < job_store::max_jobs_per_statement) {
        bytes += what[first + count].payload.size();
        if (count > 0 && bytes > max_statement_bytes) break;
        ++count;
    }
    return count;
}

std::vector<enqueued_job> send_plain(
    connection& on, store_set& stores, std::string_view queue, const std::vector<new_job>& what
) {
    std::vector<enqueued_job> made;
    made.reserve(what.size());
    for (std::size_t first = 0; first < what.size();) {
        const std::size_t count = part_of(what, first);
        const auto begin = what.begin() + static_cast<std::ptrdiff_t>(first);
        const std::vector<new_job> part{begin, begin + static_cast<std::ptrdiff_t>(count)};
        const auto ids = stores.get<job_store>().enqueue(on, queue, part);
        made.insert(made.end(), ids.begin(), ids.end());
        first += count;
    }
    return made;
}

}  // namespace

std::vector<enqueued_job> enqueue_list(
    connection& on, store_set& stores, std::string_view queue, const std::vector<new_job>& what
) {
    if (!std::ranges::any_of(what, needs_others)) return send_plain(on, stores, queue, what);
    auto made = send_plain(on, stores, queue, as_waiting(what));
    add_needs(on, stores, what, made);
    return made;
}

void tell_of_new(
    observer* told,
    const std::string& queue,
    std::span<const new_job> what,
    std::span<const enqueued_job> made
) noexcept {
    if (!told) return;
    for (std::size_t at = 0; at < made.size(); ++at) {
        if (!made[at].is_new) continue;
        event one{event_kind::job_enqueued};
        one.number = made[at].id;
        one.queue = queue;
        one.job_kind = what[at].kind;
        told->on_event(one);
    }
}

}  // namespace leasehold
