#include "jobs/job_check.hpp"

#include <limits>
#include <set>

#include "core/known_value.hpp"
#include "core/traceparent.hpp"
#include "core/utf8.hpp"
#include "jobs/needs.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds delay_most = hours{24 * 366};

bool is_text(std::string_view text) {
    return is_utf8(text) && text.find('\0') == std::string_view::npos;
}

void require_valid(const retry_policy& policy, int max_rescues) {
    constexpr int most = 10'000;
    if (policy.max_attempts < 1 || policy.max_attempts > most) {
        refuse_input("a job has 1 to 10000 attempts, not " + std::to_string(policy.max_attempts));
    }
    if (max_rescues < 1 || max_rescues > most) {
        refuse_input("max_rescues of a job must be 1 to 10000, not " + std::to_string(max_rescues));
    }
    for (const milliseconds each : {policy.delay, policy.max_delay}) {
        if (each < milliseconds{0} || each > delay_most) {
            refuse_input("the delays of a retry_policy must be 0 to 366 days");
        }
    }
}

void require_valid_time(const new_job& what) {
    constexpr schedule::instant first{};
    constexpr schedule::instant last = std::chrono::sys_days{
        std::chrono::year{2999} / std::chrono::December / std::chrono::day{31}};
    if (what.run_at && (*what.run_at < first || *what.run_at > last)) {
        refuse_input("run_at of a job must be a date of 1970 to 2999");
    }
    if (what.delay < milliseconds{0} || what.delay > delay_most) {
        refuse_input("the delay of a job must be 0 to 366 days");
    }
    const bool is_waiting = needs_others(what);
    if (is_waiting && !what.unique_key.empty() && what.conflict == on_conflict::replace) {
        refuse_input("a job that needs others cannot replace one of its unique key: keep, or fail");
    }
    if (is_waiting && (what.run_at || what.delay > milliseconds{0})) {
        refuse_input(
            "a job that needs others has no run_at and no delay: it runs when they have ended"
        );
    }
    if (what.run_at && what.delay > milliseconds{0}) {
        refuse_input("a job has run_at or delay, not both");
    }
    if (what.attempt_timeout &&
        (*what.attempt_timeout < milliseconds{1} || *what.attempt_timeout > delay_most)) {
        refuse_input("the attempt_timeout of a job must be 1 ms to 366 days");
    }
}

void require_between(milliseconds given, milliseconds least, milliseconds most, const char* what) {
    if (given >= least && given <= most) return;
    refuse_input(std::string{"worker_settings: "} + what);
}

}  // namespace

void refuse_input(const std::string& what) {
    throw error(errc::invalid_argument, what);
}

void require_key(std::string_view key, const char* what) {
    constexpr std::size_t max_bytes = 255;
    if (key.size() <= max_bytes && is_text(key)) return;
    refuse_input(std::string{"the "} + what + " must be at most 255 bytes of UTF-8 without NUL");
}

void require_name(std::string_view name, const char* what) {
    if (name.empty()) refuse_input(std::string{"the name of a "} + what + " must not be empty");
    require_key(name, what);
}

void require_checkpoint(std::string_view state) {
    constexpr std::size_t max_bytes = 65'536;
    if (state.size() > max_bytes) {
        refuse_input(
            "a checkpoint of " + std::to_string(state.size()) +
            " bytes is too long: at most 65536; store the rest elsewhere"
        );
    }
    if (!is_text(state)) {
        refuse_input("a checkpoint must be UTF-8 without NUL: encode bytes, by base64 for example");
    }
}

void require_valid(const new_job& what, std::size_t max_payload_bytes) {
    require_key(what.kind, "kind of a job");
    require_key(what.unique_key, "unique key of a job");
    require_key(what.ordering_key, "ordering key of a job");
    require_known(what.unique, unique_until::ended, "unique_until");
    require_known(what.conflict, on_conflict::fail, "on_conflict");
    require_known(what.depends_until, dependency_until::ended, "dependency_until");
    if (what.payload.size() > max_payload_bytes) {
        // The words of the SQL function leasehold_enqueue, which is a migration and stays as it is.
        refuse_input(
            "a payload of " + std::to_string(what.payload.size()) + " bytes is too long: at most " +
            std::to_string(max_payload_bytes) +
            " (payload_bytes_max); store it elsewhere and enqueue where it is"
        );
    }
    if (!is_text(what.payload)) {
        refuse_input("a payload must be UTF-8 without NUL: encode bytes, by base64 for example");
    }
    if (what.priority < std::numeric_limits<std::int16_t>::min() ||
        what.priority > std::numeric_limits<std::int16_t>::max()) {
        refuse_input("the priority of a job must be -32768 to 32767");
    }
    if (!what.traceparent.empty() && !is_traceparent(what.traceparent)) {
        refuse_input(
            "'" + what.traceparent.substr(0, 100) +
            "' is no traceparent of W3C Trace Context, as " +
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 is one"
        );
    }
    require_valid(what.retry, what.max_rescues);
    require_valid_time(what);
}

void require_valid(const worker_settings& settings) {
    constexpr std::size_t max_queues = 100;
    constexpr int max_threads = 1000, max_prefetch = 1000, max_weight = 1000;
    if (settings.queues.empty() || settings.queues.size() > max_queues) {
        refuse_input("a worker works for 1 to 100 queues");
    }
    std::set<std::string> names;
    for (const std::string& each : settings.queues) {
        require_name(each, "queue");
        if (!names.insert(each).second) refuse_input("queue '" + each + "' is named twice");
    }
    require_known(settings.order, queue_order::as_listed, "queue_order");
    for (const auto& [queue, weight] : settings.weights) {
        require_name(queue, "queue");
        if (!names.contains(queue)) {
            refuse_input("weights: '" + queue + "' is no queue of this worker");
        }
        if (weight < 1 || weight > max_weight) refuse_input("the weight of a queue is 1 to 1000");
    }
    if (!settings.weights.empty() && settings.order != queue_order::in_turn) {
        refuse_input("weights count only for queues in turn");
    }
    if (settings.concurrency < 1 || settings.concurrency > max_threads) {
        refuse_input("worker_settings: concurrency must be 1 to 1000");
    }
    const int prefetch = settings.prefetch.value_or(0);
    if (prefetch < 0 || prefetch > max_prefetch) {
        refuse_input("worker_settings: prefetch must be 0 to 1000");
    }
    const milliseconds day = hours{24};
    require_between(
        settings.poll_every, milliseconds{10}, hours{1}, "poll_every must be 10 ms to 1 h"
    );
    require_between(
        settings.max_ends_wait, milliseconds{0}, seconds{1}, "max_ends_wait must be 0 to 1 s"
    );
    require_between(
        settings.drain_timeout, milliseconds{0}, day, "drain_timeout must be 0 to 24 h"
    );
    require_between(settings.stop_timeout, milliseconds{0}, day, "stop_timeout must be 0 to 24 h");
}

}  // namespace leasehold
