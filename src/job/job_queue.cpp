#include "leasehold/job_queue.hpp"

#include <algorithm>

#include "core/utf8.hpp"
#include "database/database.hpp"
#include "database/taking_part.hpp"
#include "job/names.hpp"
#include "leasehold/error.hpp"
#include "lock/keep_asking.hpp"
#include "store/job_queue_store.hpp"
#include "store/job_store.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds longest_delay = hours{24 * 366};
constexpr std::size_t statement_bytes_max = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& what) {
    throw error(errc::invalid_argument, what);
}

bool is_text(std::string_view text) {
    return is_utf8(text) && text.find('\0') == std::string_view::npos;
}

bounds bounds_of(const database& db) {
    return {local_clock::now() + db.settings().acquire_timeout, {}, {}};
}

// What may be asked again whatever became of it.
template <class Use>
auto repeatedly(const database& db, Use&& with) {
    const bounds of_call = bounds_of(db);
    return repeat(
        [&](int) { return db.inner()->use(of_call, with); },
        [&](const error&) { return !of_call.have_passed(); }
    );
}

void require_valid(const retry_policy& policy, int rescues_max) {
    constexpr int most = 10'000;
    if (policy.attempts_max < 1 || policy.attempts_max > most) {
        refuse("a job has 1 to 10000 attempts, not " + std::to_string(policy.attempts_max));
    }
    if (rescues_max < 1 || rescues_max > most) {
        refuse("rescues_max of a job must be 1 to 10000, not " + std::to_string(rescues_max));
    }
    for (const milliseconds each : {policy.delay, policy.delay_max}) {
        if (each < milliseconds{0} || each > longest_delay) {
            refuse("the delays of a retry_policy must be 0 to 366 days");
        }
    }
}

void require_valid_time(const new_job& what) {
    constexpr schedule::instant first{};
    constexpr schedule::instant last = std::chrono::sys_days{
        std::chrono::year{2999} / std::chrono::December / std::chrono::day{31}};
    if (what.run_at && (*what.run_at < first || *what.run_at > last)) {
        refuse("run_at of a job must be a date of 1970 to 2999");
    }
    if (what.delay < milliseconds{0} || what.delay > longest_delay) {
        refuse("the delay of a job must be 0 to 366 days");
    }
    if (what.run_at && what.delay > milliseconds{0}) {
        refuse("a job has run_at or delay, not both");
    }
    if (what.time_limit &&
        (*what.time_limit < milliseconds{1} || *what.time_limit > longest_delay)) {
        refuse("the time limit of a job must be 1 ms to 366 days");
    }
}

void require_valid(const queue_limits& limits) {
    constexpr int most = 1'000'000, per_key_most = 1000;
    const auto is_number = [&](const std::optional<int>& given) {
        return !given || (*given >= 1 && *given <= most);
    };
    if (!is_number(limits.running_max)) refuse("running_max of a queue must be 1 to 1000000");
    if (!is_number(limits.starts_max)) refuse("starts_max of a queue must be 1 to 1000000");
    if (limits.running_per_key_max < 1 || limits.running_per_key_max > per_key_most) {
        refuse("running_per_key_max of a queue must be 1 to 1000");
    }
    if (limits.starts_per < milliseconds{1} || limits.starts_per > longest_delay) {
        refuse("starts_per of a queue must be 1 ms to 366 days");
    }
    for (const seconds each :
         {limits.keep_completed, limits.keep_discarded, limits.keep_cancelled}) {
        if (each < seconds{0} || each > hours{24 * 366 * 100}) {
            refuse("ended jobs are kept for 0 to 100 years");
        }
    }
}

// The first of a list that one statement takes, at least one.
std::size_t part_of(const std::vector<new_job>& what, std::size_t first) {
    std::size_t count = 0, bytes = 0;
    while (first + count < what.size() && count < job_store::jobs_per_statement_max) {
        bytes += what[first + count].payload.size();
        if (count > 0 && bytes > statement_bytes_max) break;
        ++count;
    }
    return count;
}

std::vector<enqueued_job> send(
    connection& on, store& stores, std::string_view queue, const std::vector<new_job>& what
) {
    std::vector<enqueued_job> made;
    made.reserve(what.size());
    for (std::size_t first = 0; first < what.size();) {
        const std::size_t count = part_of(what, first);
        const auto begin = what.begin() + static_cast<std::ptrdiff_t>(first);
        const std::vector<new_job> part{begin, begin + static_cast<std::ptrdiff_t>(count)};
        const auto ids = stores.jobs->enqueue(on, queue, part);
        made.insert(made.end(), ids.begin(), ids.end());
        first += count;
    }
    return made;
}

}  // namespace

void require_key(std::string_view key, const char* what) {
    constexpr std::size_t bytes_max = 255;
    if (key.size() <= bytes_max && is_text(key)) return;
    refuse(std::string{"the "} + what + " must be at most 255 bytes of UTF-8 without NUL");
}

void require_name(std::string_view name, const char* what) {
    if (name.empty()) refuse(std::string{"the name of a "} + what + " must not be empty");
    require_key(name, what);
}

void require_kind(std::string_view kind) {
    require_key(kind, "kind of a job");
}

job_queue::job_queue(database within, std::string name, job_queue_settings settings)
    : database_(std::move(within)), name_(std::move(name)), settings_(settings) {
    require_name(name_, "queue");
    constexpr std::size_t most = std::size_t{64} << 20;
    if (settings_.payload_bytes_max < 1 || settings_.payload_bytes_max > most) {
        refuse("payload_bytes_max must be 1 to 64 MiB");
    }
}

void job_queue::require_valid(const new_job& what) const {
    require_kind(what.kind);
    require_key(what.unique_key, "unique key of a job");
    require_key(what.ordering_key, "ordering key of a job");
    if (what.payload.size() > settings_.payload_bytes_max) {
        refuse(
            "a payload of " + std::to_string(what.payload.size()) + " bytes is too long: at most " +
            std::to_string(settings_.payload_bytes_max) +
            " (payload_bytes_max); store it elsewhere and enqueue where it is"
        );
    }
    if (!is_text(what.payload)) {
        refuse("a payload must be UTF-8 without NUL: encode bytes, by base64 for example");
    }
    if (what.priority < std::numeric_limits<std::int16_t>::min() ||
        what.priority > std::numeric_limits<std::int16_t>::max()) {
        refuse("the priority of a job must be -32768 to 32767");
    }
    leasehold::require_valid(what.retry, what.rescues_max);
    require_valid_time(what);
}

enqueued_job job_queue::enqueue(const new_job& what) const {
    require_valid(what);
    return database_.inner()->use(bounds_of(database_), [&](connection& on, store& stores) {
        return stores.jobs->enqueue(on, name_, {what}).front();
    });
}

std::vector<enqueued_job> job_queue::enqueue_many(const std::vector<new_job>& what) const {
    for (const new_job& each : what) require_valid(each);
    if (what.empty()) return {};
    return database_.inner()->use(bounds_of(database_), [&](connection& on, store& stores) {
        on.begin();
        try {
            auto made = send(on, stores, name_, what);
            on.commit();
            return made;
        } catch (...) {
            on.rollback();
            throw;
        }
    });
}

enqueued_job job_queue::enqueue_in(transaction_ref inside, const new_job& what) const {
    return enqueue_many_in(inside, {what}).front();
}

std::vector<enqueued_job> job_queue::enqueue_many_in(
    transaction_ref inside, const std::vector<new_job>& what
) const {
    for (const new_job& each : what) require_valid(each);
    connection& on = inside.inside();
    database::implementation& own = *database_.inner();
    require_transaction(on, "enqueue_in");
    own.get_ready();
    require_engine(on, own.which(), "enqueue_in");
    return send(on, own.store_for(on), name_, what);
}

void job_queue::set_limits(const queue_limits& limits) const {
    leasehold::require_valid(limits);
    repeatedly(database_, [&](connection& on, store& stores) {
        stores.job_queues->set_limits(on, name_, limits);
    });
}

void job_queue::pause() const {
    repeatedly(database_, [&](connection& on, store& stores) {
        stores.job_queues->set_paused(on, name_, true);
    });
}

void job_queue::resume() const {
    repeatedly(database_, [&](connection& on, store& stores) {
        stores.job_queues->set_paused(on, name_, false);
    });
}

queue_info job_queue::describe() const {
    return repeatedly(database_, [&](connection& on, store& stores) {
        return stores.job_queues->describe_queue(on, name_);
    });
}

std::vector<queue_info> list_queues(const database& db) {
    return repeatedly(db, [&](connection& on, store& stores) {
        std::vector<queue_info> all;
        for (const std::string& each : stores.job_queues->queue_names(on)) {
            all.push_back(stores.job_queues->describe_queue(on, each));
        }
        return all;
    });
}

std::optional<job_info> find_job(const database& db, job_id id) {
    return repeatedly(db, [&](connection& on, store& stores) {
        return stores.job_queues->describe(on, id);
    });
}

std::vector<job_info> list_jobs(const database& db, const job_filter& filter) {
    constexpr int most = 10'000;
    if (filter.limit < 1 || filter.limit > most) refuse("a page of jobs has 1 to 10000");
    if (!filter.queue.empty()) require_name(filter.queue, "queue");
    return repeatedly(db, [&](connection& on, store& stores) {
        return stores.job_queues->list(on, filter);
    });
}

cancel_outcome cancel_job(const database& db, job_id id) {
    return repeatedly(db, [&](connection& on, store& stores) {
        job_queue_store& all = *stores.job_queues;
        const auto found = all.describe(on, id);
        if (!found) return cancel_outcome::not_found;
        const auto row = all.find_queue(on, found->queue);
        const queue_limits limits = row ? row->limits : queue_limits{};
        return all.cancel(on, id, limits.keep_cancelled);
    });
}

retry_outcome retry_job(const database& db, job_id id) {
    return repeatedly(db, [&](connection& on, store& stores) {
        return stores.job_queues->retry(on, id);
    });
}

const char* name_of(cancel_outcome outcome) noexcept {
    switch (outcome) {
        case cancel_outcome::cancelled:
            return "cancelled";
        case cancel_outcome::requested:
            return "requested";
        case cancel_outcome::ended:
            return "ended";
        case cancel_outcome::not_found:
            return "not_found";
    }
    return "unknown";
}

const char* name_of(retry_outcome outcome) noexcept {
    switch (outcome) {
        case retry_outcome::available:
            return "available";
        case retry_outcome::redriven:
            return "redriven";
        case retry_outcome::running:
            return "running";
        case retry_outcome::duplicate:
            return "duplicate";
        case retry_outcome::not_found:
            return "not_found";
    }
    return "unknown";
}

}  // namespace leasehold
