#include "admin/queue_findings.hpp"

#include <algorithm>
#include <string>

#include "admin/some_findings.hpp"
#include "core/in_words.hpp"
#include "core/shell_word.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

// The shortest wait that may be unusual, and how many times the usual wait it takes then.
constexpr microseconds unusual_from = 1min;
constexpr int unusual_times = 10;

std::string since(const waiting_queue& queue) {
    return "the next job of queue '" + queue.name + "' has waited for " + in_words(queue.waits);
}

finding paused(const waiting_queue& queue) {
    return {
        severity::warning,
        "paused_queue",
        "queue '" + queue.name + "' is paused, and jobs wait in it; " + since(queue),
        "none of them starts",
        "leasehold queue resume " + shell_word(queue.name)};
}

finding late(const char* name, const waiting_queue& queue, const std::string& more) {
    return {
        severity::warning,
        name,
        since(queue) + ", and no worker has it yet" + more,
        "there is no worker for it, none for its kind, a limit holds it back, or they do not keep "
        "up",
        "leasehold queue stats " + shell_word(queue.name) +
            " shows how many wait; start more "
            "workers"};
}

}  // namespace

std::vector<finding> find_in_queues(
    connection& on, health_store& health, const diagnosis_settings& settings
) {
    const microseconds slow_from = settings.waiting_longer_than;
    some_findings paused_ones{"queues"}, slow_ones{"queues"}, unusual_ones{"queues"};
    constexpr int max_asked = 100;  // queues whose usual time is asked for
    int asked = 0;
    for (const waiting_queue& each : health.waiting_queues(on, std::min(slow_from, unusual_from))) {
        if (each.is_paused) {
            paused_ones.add(paused(each));
        } else if (each.waits > slow_from) {
            slow_ones.add(late("slow_queue", each, ""));
        } else if (each.waits > unusual_from && asked++ < max_asked) {
            const auto usual = health.usual_time(on, each.name);
            if (!usual || each.waits <= *usual * unusual_times) continue;
            unusual_ones.add(late(
                "slower_than_usual",
                each,
                "; the last ones that completed there took " + in_words(*usual) + " in all"
            ));
        }
    }
    std::vector<finding> found;
    paused_ones.move_to(found);
    slow_ones.move_to(found);
    unusual_ones.move_to(found);
    return found;
}

// A look at a few jobs of each queue finds those queues that are worth a second one.
std::vector<finding> find_discarded(connection& on, health_store& health) {
    constexpr microseconds within = 24h;
    constexpr std::int64_t first_look = 20, second_look = 1000;
    constexpr int second_looks = 20;
    some_findings all{"queues"};
    int looks = 0;
    for (discarded_jobs each : health.discarded(on, within, first_look)) {
        std::int64_t max_counted = first_look;
        if (each.count >= max_counted && looks++ < second_looks) {
            max_counted = second_look;
            each.count = health.discarded_of(on, each.queue, within, max_counted);
        }
        all.add(
            {severity::warning,
             "discarded_jobs",
             in_words(each.count, "job") + (each.count >= max_counted ? " or more" : "") +
                 " of queue '" + each.queue + "' " + (each.count == 1 ? "was" : "were") +
                 " given up within the last day",
             "nobody does them any more",
             "leasehold job list --queue " + shell_word(each.queue) +
                 " --state discarded shows them; what has failed is in `leasehold job show ID`, "
                 "and `leasehold job retry ID` begins one again"}
        );
    }
    std::vector<finding> found;
    all.move_to(found);
    return found;
}

}  // namespace leasehold
