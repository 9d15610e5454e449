#include "job/needs.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "job/job_check.hpp"
#include "leasehold/connection.hpp"
#include "store/job_queue_store.hpp"

namespace leasehold {
namespace {

// Whoever waits for one that was cancelled is told by its row.
constexpr std::chrono::hours kept_cancelled{24 * 7};

std::string list_of(const std::vector<std::size_t>& places) {
    constexpr std::size_t named_max = 10;
    std::string text;
    for (std::size_t at = 0; at < std::min(places.size(), named_max); ++at) {
        text += (at == 0 ? "" : ", ") + std::to_string(places[at]);
    }
    return places.size() > named_max ? text + ", ..." : text;
}

// What of them is over. Those that are given up have ended by that, too.
struct settled {
    std::int64_t freed = 0;
    std::vector<job_id> cancelled{};
};

settled settle(connection& on, store& stores, const std::vector<job_need_over>& over) {
    settled now;
    std::set<job_id> waited;
    for (const auto& [what, became] : over) {
        const bool has_failed = became == job_state::discarded || became == job_state::cancelled;
        if (!has_failed || what.until == need_until::ended) {
            waited.insert(what.job);
            continue;
        }
        const std::string why =
            "it needs job " + std::to_string(what.needs) + ", which was " + name_of(became);
        if (!stores.job_needs->note_reason(on, what.job, why)) continue;
        stores.job_queues->cancel(on, what.job, kept_cancelled);
        now.cancelled.push_back(what.job);
    }
    if (!over.empty()) stores.job_needs->forget(on, over);
    if (!waited.empty()) now.freed = stores.job_needs->free(on, {waited.begin(), waited.end()});
    return now;
}

}  // namespace

// Kahn, "Topological sorting of large networks" (1962): what needs nobody is taken away, until
// nothing is left, or those that are in a circle or behind one.
void require_no_circle(const std::vector<new_job>& list) {
    std::vector<std::size_t> needs_left(list.size());
    std::map<std::size_t, std::vector<std::size_t>> needed_by;
    for (std::size_t at = 0; at < list.size(); ++at) {
        for (const std::size_t each : list[at].needs_of_list) {
            if (each >= list.size()) {
                refuse_input(
                    "job " + std::to_string(at) + " of the list needs job " + std::to_string(each) +
                    ", and the list has " + std::to_string(list.size()) + ", from 0 on"
                );
            }
            needed_by[each].push_back(at);
        }
        needs_left[at] = list[at].needs_of_list.size();
    }
    std::vector<std::size_t> free;
    for (std::size_t at = 0; at < list.size(); ++at) {
        if (needs_left[at] == 0) free.push_back(at);
    }
    for (std::size_t next = 0; next < free.size(); ++next) {
        const auto found = needed_by.find(free[next]);
        if (found == needed_by.end()) continue;
        for (const std::size_t each : found->second) {
            if (--needs_left[each] == 0) free.push_back(each);
        }
    }
    if (free.size() == list.size()) return;
    std::vector<std::size_t> stuck;
    for (std::size_t at = 0; at < list.size(); ++at) {
        if (needs_left[at] > 0) stuck.push_back(at);
    }
    refuse_input(
        "jobs of the list wait for each other in a circle, or for one that does: " + list_of(stuck)
    );
}

std::vector<new_job> as_waiting(const std::vector<new_job>& list) {
    std::vector<new_job> all = list;
    for (new_job& each : all) {
        if (needs_others(each)) each.run_at = job_need_store::never;
    }
    return all;
}

void add_needs(
    connection& inside,
    store& stores,
    const std::vector<new_job>& list,
    const std::vector<enqueued_job>& made
) {
    std::vector<job_need> all;
    for (std::size_t at = 0; at < list.size(); ++at) {
        // One that was there already waits for what it waited for.
        if (!made[at].is_new) continue;
        std::set<job_id> whom(list[at].needs.begin(), list[at].needs.end());
        for (const job_id each : whom) {
            if (each >= 1 && each < made[at].id) continue;
            refuse_input(
                "there is no job " + std::to_string(each) +
                ", which a job needs: it was never "
                "enqueued; roll back"
            );
        }
        for (const std::size_t each : list[at].needs_of_list) {
            if (made[each].id != made[at].id) whom.insert(made[each].id);
        }
        for (const job_id each : whom) all.push_back({made[at].id, each, list[at].needs_until});
    }
    if (!all.empty()) stores.job_needs->add(inside, all);
}

std::int64_t settle_needs(connection& on, store& stores, const std::vector<job_id>& ids) {
    std::int64_t freed = 0;
    std::vector<job_id> ended = ids;
    while (!ended.empty()) {
        settled now = settle(on, stores, stores.job_needs->over(on, ended));
        freed += now.freed;
        ended = std::move(now.cancelled);
    }
    return freed;
}

std::int64_t settle_left_needs(
    connection& on, store& stores, const std::string& queue, need_places& places
) {
    settled now = settle(on, stores, stores.job_needs->over_behind(on, places.over));
    const auto left = stores.job_needs->left_waiting(on, queue, places.waiting);
    if (!left.empty()) now.freed += stores.job_needs->free(on, left);
    return now.freed + settle_needs(on, stores, now.cancelled);
}

}  // namespace leasehold
