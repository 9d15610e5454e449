#include "upkeep/queue_findings.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/in_words.hpp"
#include "core/shell_word.hpp"

namespace leasehold {
namespace {

constexpr std::size_t named_max = 20;

std::string since(const waiting_queue& queue) {
    return "the next job of queue '" + queue.name + "' was enqueued " + in_words(queue.waits) +
           " ago";
}

finding paused(const waiting_queue& queue, const std::string& more) {
    return {
        severity::warning,
        "paused_queue",
        "queue '" + queue.name + "' is paused, and jobs wait in it; " + since(queue) + more,
        "none of them starts",
        "leasehold queue resume " + shell_word(queue.name)};
}

finding slow(const waiting_queue& queue, const std::string& more) {
    return {
        severity::warning,
        "slow_queue",
        since(queue) + ", and no worker has it yet" + more,
        "there is no worker for it, none for its kind, a limit holds it back, or they do not keep "
        "up",
        "leasehold queue stats " + shell_word(queue.name) +
            " shows how many wait; start more "
            "workers"};
}

}  // namespace

std::vector<finding> findings_of(const std::vector<waiting_queue>& queues) {
    std::vector<finding> found;
    for (const bool is_paused : {true, false}) {
        const auto is_meant = [&](const waiting_queue& each) {
            return each.is_paused == is_paused;
        };
        const auto count =
            static_cast<std::size_t>(std::count_if(queues.begin(), queues.end(), is_meant));
        std::size_t named = 0;
        for (const waiting_queue& each : queues) {
            if (!is_meant(each)) continue;
            if (++named > named_max) break;
            const bool is_last = named == named_max && count > named_max;
            const std::string more =
                is_last ? "; and " + std::to_string(count - named_max) + " more queues are like it"
                        : "";
            found.push_back(is_paused ? paused(each, more) : slow(each, more));
        }
    }
    return found;
}

}  // namespace leasehold
