#include "jobs/needs.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "jobs/job_check.hpp"
#include "jobs/job_queue_store.hpp"
#include "leasehold/connection.hpp"

namespace leasehold {
namespace {

std::string list_of(const std::vector<std::size_t>& places) {
    constexpr std::size_t max_named = 10;
    std::string text;
    for (std::size_t at = 0; at < std::min(places.size(), max_named); ++at) {
        text += (at == 0 ? "" : ", ") + std::to_string(places[at]);
    }
    return places.size() > max_named ? text + ", ..." : text;
}

// Kahn, "Topological sorting of large networks" (1962): takes away jobs that need nobody. Jobs that
// are left are in a circle or behind one; returns their indexes.
std::vector<std::size_t> in_circles(const std::vector<std::vector<std::size_t>>& needs) {
    std::vector<std::size_t> needs_left(needs.size()), free;
    std::map<std::size_t, std::vector<std::size_t>> needed_by;
    for (std::size_t at = 0; at < needs.size(); ++at) {
        for (const std::size_t each : needs[at]) needed_by[each].push_back(at);
        needs_left[at] = needs[at].size();
        if (needs_left[at] == 0) free.push_back(at);
    }
    for (std::size_t next = 0; next < free.size(); ++next) {
        const auto found = needed_by.find(free[next]);
        if (found == needed_by.end()) continue;
        for (const std::size_t each : found->second) {
            if (--needs_left[each] == 0) free.push_back(each);
        }
    }
    std::vector<std::size_t> stuck;
    for (std::size_t at = 0; at < needs.size(); ++at) {
        if (needs_left[at] > 0) stuck.push_back(at);
    }
    return stuck;
}

constexpr std::chrono::hours kept_least{24};

// Keeps the job as long as its queue keeps cancelled ones, and long enough for jobs that wait for
// it to learn of it.
void cancel(connection& on, store_set& stores, job_id id) {
    const auto found = stores.get<job_queue_store>().describe(on, id);
    if (!found) return;
    const auto row = stores.get<job_queue_store>().find_queue(on, found->queue);
    const auto kept = row ? row->limits.keep_cancelled : queue_limits{}.keep_cancelled;
    stores.get<job_queue_store>().cancel(on, id, std::max<std::chrono::seconds>(kept, kept_least));
}

// The result of settle(). Jobs that were cancelled here have ended by that, too.
struct settled {
    std::vector<job_id> freed{};  // or may be
    std::int64_t count = 0;
    std::vector<job_id> cancelled{};
    std::size_t settled_rows = 0;
};

settled settle(connection& on, store_set& stores, const std::vector<job_need_over>& over) {
    settled now;
    std::vector<job_need_over> done;
    std::set<job_id> waited;
    for (const auto& each : over) {
        const auto& [what, became] = each;
        const bool has_failed = became == job_state::discarded || became == job_state::cancelled;
        if (!has_failed || what.until == dependency_until::ended) {
            waited.insert(what.job);
            done.push_back(each);
            continue;
        }
        const std::string why =
            "it needs job " + std::to_string(what.needs) + ", which was " + name_of(became);
        const auto outcome = stores.get<job_need_store>().note_reason(on, what.job, why);
        // The job keeps waiting; a later pass gives it up.
        if (outcome == job_need_store::note_outcome::locked) continue;
        done.push_back(each);
        if (outcome == job_need_store::note_outcome::gone) continue;
        cancel(on, stores, what.job);
        now.cancelled.push_back(what.job);
    }
    now.settled_rows = done.size();
    if (done.empty()) return now;
    now.freed.assign(waited.begin(), waited.end());
    on.begin();
    try {
        stores.get<job_need_store>().forget(on, done);
        now.count = stores.get<job_need_store>().free(on, now.freed);
        on.commit();
    } catch (...) {
        on.rollback();
        throw;
    }
    now.count += stores.get<job_need_store>().free(on, now.freed);
    return now;
}

void notify_of(
    connection& on, store_set& stores, const std::vector<job_id>& freed, const on_freed& tell
) {
    for (const std::string& each : stores.get<job_need_store>().queues_of(on, freed)) tell(each);
}

}  // namespace

void require_places(const std::vector<new_job>& list) {
    for (std::size_t at = 0; at < list.size(); ++at) {
        for (const std::size_t each : list[at].depends_on_listed) {
            if (each < list.size()) continue;
            refuse_input(
                "job " + std::to_string(at) + " of the list needs job " + std::to_string(each) +
                ", and the list has " + std::to_string(list.size()) + ", from 0 on"
            );
        }
    }
}

void require_no_circle(const std::vector<new_job>& list) {
    require_places(list);
    std::vector<std::vector<std::size_t>> needs;
    needs.reserve(list.size());
    for (const new_job& each : list) needs.push_back(each.depends_on_listed);
    const auto stuck = in_circles(needs);
    if (stuck.empty()) return;
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
    store_set& stores,
    const std::vector<new_job>& list,
    const std::vector<enqueued_job>& made
) {
    std::vector<job_need> all;
    // Two entries of one unique key are one job: so a circle may show only now.
    std::map<job_id, std::size_t> places;
    std::vector<std::vector<std::size_t>> needs(list.size());
    for (std::size_t at = 0; at < list.size(); ++at) places.emplace(made[at].id, at);
    for (std::size_t at = 0; at < list.size(); ++at) {
        // A job that was there already keeps its needs.
        if (!made[at].is_new) continue;
        std::set<job_id> whom(list[at].depends_on.begin(), list[at].depends_on.end());
        for (const job_id each : whom) {
            if (each >= 1 && each < made[at].id) continue;
            refuse_input(
                "there is no job " + std::to_string(each) +
                ", which a job needs: it was never "
                "enqueued; roll back"
            );
        }
        for (const std::size_t each : list[at].depends_on_listed) {
            whom.insert(made[each].id);
            needs[at].push_back(places.at(made[each].id));
        }
        for (const job_id each : whom) all.push_back({made[at].id, each, list[at].depends_until});
    }
    if (const auto stuck = in_circles(needs); !stuck.empty()) {
        refuse_input(
            "jobs of the list, of which some have one unique key, wait for each other in a circle, "
            "or for one that does: " +
            list_of(stuck) + "; roll back"
        );
    }
    if (!all.empty()) stores.get<job_need_store>().add(inside, all);
}

std::vector<job_id> settle_some_needs(
    connection& on, store_set& stores, const std::vector<job_id>& ids, const on_freed& tell
) {
    const auto over = stores.get<job_need_store>().over(on, ids);
    settled now = settle(on, stores, over);
    if (now.count > 0) notify_of(on, stores, now.freed, tell);
    std::vector<job_id> left = std::move(now.cancelled);
    // If somebody has locked all of these rows, a later turn goes on with them.
    const bool are_more = over.size() >= job_need_store::max_rows && now.settled_rows > 0;
    if (are_more) left.insert(left.end(), ids.begin(), ids.end());
    return left;
}

std::int64_t settle_needs(
    connection& on, store_set& stores, const std::vector<job_id>& ids, const on_freed& tell
) {
    std::int64_t freed = 0;
    std::vector<job_id> ended = ids;
    while (!ended.empty()) {
        settled now = settle(on, stores, stores.get<job_need_store>().over(on, ended));
        freed += now.count;
        if (now.count > 0) notify_of(on, stores, now.freed, tell);
        ended = std::move(now.cancelled);
    }
    return freed;
}

std::int64_t settle_left_needs(
    connection& on,
    store_set& stores,
    const std::string& queue,
    need_places& places,
    const on_freed& tell
) {
    settled now = settle(on, stores, stores.get<job_need_store>().over_behind(on, places.over));
    if (now.count > 0) notify_of(on, stores, now.freed, tell);
    const auto left = stores.get<job_need_store>().left_waiting(on, queue, places.waiting);
    if (!left.empty()) now.count += stores.get<job_need_store>().free(on, left);
    return now.count + settle_needs(on, stores, now.cancelled, tell);
}

}  // namespace leasehold
