#include "leasehold/job_queue.hpp"
#include "jobs/job_notifier.hpp"

#include <algorithm>
#include <set>

#include "core/known_value.hpp"
#include "database/database.hpp"
#include "database/taking_part.hpp"
#include "jobs/enqueue.hpp"
#include "jobs/job_check.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_store.hpp"
#include "jobs/needs.hpp"
#include "leasehold/error.hpp"
#include "locks/repeatedly.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds longest_delay = hours{24 * 366};

void require_valid(const queue_limits& limits) {
    constexpr int most = 1'000'000, per_key_most = 1000;
    const auto is_number = [&](const std::optional<int>& given) {
        return !given || (*given >= 1 && *given <= most);
    };
    if (!is_number(limits.max_running)) refuse_input("max_running of a queue must be 1 to 1000000");
    if (!is_number(limits.max_starts)) refuse_input("max_starts of a queue must be 1 to 1000000");
    if (limits.max_running_per_key < 1 || limits.max_running_per_key > per_key_most) {
        refuse_input("max_running_per_key of a queue must be 1 to 1000");
    }
    if (limits.starts_per < milliseconds{1} || limits.starts_per > longest_delay) {
        refuse_input("starts_per of a queue must be 1 ms to 366 days");
    }
    for (const seconds each :
         {limits.keep_completed, limits.keep_discarded, limits.keep_cancelled}) {
        if (each < seconds{0} || each > hours{24 * 366 * 100}) {
            refuse_input("ended jobs are kept for 0 to 100 years");
        }
    }
}

// Settles needs for jobs that have ended before. It may fail: workers do it, too.
void settle_at_once(
    database::implementation& own,
    connection& on,
    store_set& stores,
    const std::vector<new_job>& what
) noexcept {
    try {
        std::set<job_id> needed;  // thousands of one list may wait for the same job
        for (const new_job& each : what) {
            needed.insert(each.depends_on.begin(), each.depends_on.end());
        }
        if (needed.empty()) return;
        settle_needs(on, stores, {needed.begin(), needed.end()}, [&](const std::string& queue) {
            own.part<job_notifier>().notify(on, stores, queue);
        });
    } catch (const std::exception&) {
        // Workers free these jobs later.
    }
}

// If more jobs of a key may run than before, the first blocked jobs of each key go on. It may fail:
// workers do the same in their turns.
void unblock_at_once(
    database::implementation& own, connection& on, store_set& stores, const std::string& queue
) noexcept {
    constexpr int max_keys = 1000;
    try {
        blocked_place place;
        do {
            if (stores.get<job_queue_store>().unblock(on, queue, max_keys, place) > 0) {
                own.part<job_notifier>().notify(on, stores, queue);
            }
        } while (!place.is_beginning());
    } catch (const std::exception&) {
        // Workers free these jobs later.
    }
}

// The commit of a lent connection's transaction is not seen: that one is told of at once.
void tell_when_committed(
    database::implementation& own,
    const connection& on,
    const std::string& queue,
    const std::vector<new_job>& what,
    const std::vector<enqueued_job>& made
) {
    const auto told = own.settings().observer;
    const auto first = std::ranges::find_if(made, &enqueued_job::is_new);
    if (!told || first == made.end()) return;
    if (!own.open_transactions().has_begun(on)) return tell_of_new(told.get(), queue, what, made);
    std::vector<new_job> names(what.size());
    std::ranges::transform(what, names.begin(), [](const new_job& each) {
        return new_job{.kind = each.kind};
    });
    // One entry for each call, behind that of the queue's notification.
    const std::string name = queue + '\0' + std::to_string(first->id);
    own.open_transactions().run_after_commit(on, name, [told, queue, names, made](connection&) {
        tell_of_new(told.get(), queue, names, made);
    });
}

// `then` comes last and needs all other jobs.
std::vector<new_job> as_list(std::vector<new_job> jobs, new_job then, dependency_until until) {
    then.depends_until = until;
    for (std::size_t at = 0; at < jobs.size(); ++at) then.depends_on_listed.push_back(at);
    jobs.push_back(std::move(then));
    return jobs;
}

enqueued_batch as_batch(std::vector<enqueued_job> made) {
    enqueued_batch batch;
    batch.then = made.back();
    made.pop_back();
    batch.jobs = std::move(made);
    return batch;
}

}  // namespace

job_queue::job_queue(database within, std::string name, job_queue_settings settings)
    : database_(std::move(within)), name_(std::move(name)), settings_(settings) {
    require_name(name_, "queue");
    constexpr std::size_t most = std::size_t{64} << 20;
    if (settings_.max_payload_bytes < 1 || settings_.max_payload_bytes > most) {
        refuse_input("max_payload_bytes must be 1 to 64 MiB");
    }
}

enqueued_job job_queue::enqueue(const new_job& what) const {
    if (needs_others(what)) return enqueue_many({what}).front();
    require_valid(what, settings_.max_payload_bytes);
    database::implementation& own = *database_.inner();
    return own.use(bounds_of(database_), [&](connection& on, store_set& stores) {
        const enqueued_job made = stores.get<job_store>().enqueue(on, name_, {what}).front();
        const bool is_replaced = what.conflict == on_conflict::replace && !made.is_running;
        const bool may_be_due = made.is_new || is_replaced;
        tell_of_new(own.settings().observer.get(), name_, {&what, 1}, {&made, 1});
        if (may_be_due) own.part<job_notifier>().notify(on, stores, name_);
        return made;
    });
}

std::vector<enqueued_job> job_queue::enqueue_many(const std::vector<new_job>& what) const {
    for (const new_job& each : what) require_valid(each, settings_.max_payload_bytes);
    require_no_circle(what);
    if (what.empty()) return {};
    database::implementation& own = *database_.inner();
    return own.use(bounds_of(database_), [&](connection& on, store_set& stores) {
        on.begin();
        try {
            auto made = enqueue_list(on, stores, name_, what);
            on.commit();
            tell_of_new(own.settings().observer.get(), name_, what, made);
            settle_at_once(own, on, stores, what);
            own.part<job_notifier>().notify(on, stores, name_);
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
    for (const new_job& each : what) require_valid(each, settings_.max_payload_bytes);
    require_no_circle(what);
    connection& on = inside.inside();
    database::implementation& own = *database_.inner();
    require_transaction(on, "enqueue_in");
    own.get_ready();
    require_database(on, own, "enqueue_in");
    auto made = enqueue_list(on, own.store_for(on), name_, what);
    own.open_transactions().run_after_commit(on, name_, [&own, name = name_](connection& ended) {
        own.part<job_notifier>().notify(ended, own.store_for(ended), name);
    });
    tell_when_committed(own, on, name_, what, made);
    return made;
}

enqueued_batch job_queue::enqueue_batch(
    std::vector<new_job> jobs, new_job then, dependency_until until
) const {
    return as_batch(enqueue_many(as_list(std::move(jobs), std::move(then), until)));
}

enqueued_batch job_queue::enqueue_batch_in(
    transaction_ref inside, std::vector<new_job> jobs, new_job then, dependency_until until
) const {
    return as_batch(enqueue_many_in(inside, as_list(std::move(jobs), std::move(then), until)));
}

void job_queue::notify() const noexcept {
    try {
        database::implementation& own = *database_.inner();
        own.use(bounds_of(database_), [&](connection& on, store_set& stores) {
            own.part<job_notifier>().notify(on, stores, name_);
        });
    } catch (const std::exception&) {
        // The notification is a hint: workers look by themselves.
    }
}

void job_queue::set_limits(const queue_limits& limits) const {
    require_valid(limits);
    repeatedly(database_, [&](connection& on, store_set& stores) {
        stores.get<job_queue_store>().set_limits(on, name_, limits);
        database_.inner()->part<job_notifier>().notify(on, stores, name_);
        if (limits.max_running_per_key > 1) {
            unblock_at_once(*database_.inner(), on, stores, name_);
        }
    });
}

void job_queue::pause() const {
    repeatedly(database_, [&](connection& on, store_set& stores) {
        stores.get<job_queue_store>().set_paused(on, name_, true);
    });
}

void job_queue::resume() const {
    repeatedly(database_, [&](connection& on, store_set& stores) {
        stores.get<job_queue_store>().set_paused(on, name_, false);
        database_.inner()->part<job_notifier>().notify(on, stores, name_);
    });
}

queue_info job_queue::describe() const {
    return read_repeatedly(database_, [&](connection& on, store_set& stores) {
        return stores.get<job_queue_store>().describe_queue(on, name_);
    });
}

std::vector<queue_info> list_queues(const database& db) {
    return read_repeatedly(db, [&](connection& on, store_set& stores) {
        return stores.get<job_queue_store>().describe_queues(on);
    });
}

std::optional<job_info> find_job(const database& db, job_id id) {
    return read_repeatedly(db, [&](connection& on, store_set& stores) {
        auto found = stores.get<job_queue_store>().describe(on, id);
        constexpr int max_needs = 100;
        const bool may_wait = found && found->state == job_state::blocked;
        auto& needs = stores.get<job_need_store>();
        if (may_wait) found->depends_on = needs.needs_of(on, id, max_needs);
        if (found) found->needed_by = needs.needed_by(on, id, max_needs);
        return found;
    });
}

job_page list_jobs(const database& db, const job_filter& filter) {
    constexpr int most = 10'000;
    if (filter.limit < 1 || filter.limit > most) refuse_input("a page of jobs has 1 to 10000");
    if (!filter.queue.empty()) require_name(filter.queue, "queue");
    require_known(filter.order, job_order::newest_first, "job_order");
    if (filter.state) require_known(*filter.state, job_state::cancelled, "job_state");
    if (filter.since && *filter.since <= seconds{0})
        refuse_input("jobs are listed since a time ago");
    const bool is_oldest = filter.order == job_order::oldest_first;
    const bool is_plain = filter.kind.empty() && filter.ordering_key.empty() &&
                          filter.error_text.empty() && !filter.since;
    const bool is_of_ended = filter.state && *filter.state >= job_state::completed;
    const bool is_by_index =
        is_plain && (filter.queue.empty() ? !filter.state.has_value() : is_of_ended);
    job_queue_store::id_range among;
    const job_id last = is_oldest ? among.last : among.first;
    if (filter.after == last) return {};
    if (filter.after) (is_oldest ? among.first : among.last) = *filter.after + (is_oldest ? 1 : -1);
    job_filter wanted = filter;
    ++wanted.limit;
    job_page some;
    while (among.first <= among.last) {
        auto part = among;
        const auto found = read_repeatedly(db, [&](connection& on, store_set& stores) {
            job_queue_store& all = stores.get<job_queue_store>();
            part = is_by_index ? among : all.part_of(on, among, filter.order, most);
            return all.list(on, wanted, part);
        });
        some.items.insert(some.items.end(), found.begin(), found.end());
        if (some.size() > static_cast<std::size_t>(filter.limit)) {
            some.items.pop_back();
            some.next = some.items.back().id;
            return some;
        }
        wanted.limit = filter.limit + 1 - static_cast<int>(some.size());
        if (is_oldest ? part.last == among.last : part.first == among.first) break;
        (is_oldest ? among.first : among.last) = is_oldest ? part.last + 1 : part.first - 1;
    }
    return some;
}

cancel_outcome cancel_job(const database& db, job_id id) {
    return repeatedly(db, [&](connection& on, store_set& stores) {
        job_queue_store& all = stores.get<job_queue_store>();
        const auto found = all.describe(on, id);
        if (!found) return cancel_outcome::not_found;
        const auto row = all.find_queue(on, found->queue);
        const queue_limits limits = row ? row->limits : queue_limits{};
        // A job that waits for this one learns of its end by its row.
        const seconds kept = stores.get<job_need_store>().is_needed(on, id) ? hours{24} : hours{0};
        const auto outcome = all.cancel(on, id, std::max(limits.keep_cancelled, kept));
        if (outcome == cancel_outcome::cancelled) {
            const auto notify = [&](const std::string& queue) {
                db.inner()->part<job_notifier>().notify(on, stores, queue);
            };
            notify(found->queue);  // for the next of its ordering key
            settle_needs(on, stores, {id}, notify);
        }
        return outcome;
    });
}

retry_outcome retry_job(const database& db, job_id id) {
    return repeatedly(db, [&](connection& on, store_set& stores) {
        const auto outcome = stores.get<job_queue_store>().retry(on, id);
        const bool is_runnable =
            outcome == retry_outcome::available || outcome == retry_outcome::redriven;
        if (const auto made =
                is_runnable ? stores.get<job_queue_store>().describe(on, id) : std::nullopt) {
            db.inner()->part<job_notifier>().notify(on, stores, made->queue);
        }
        return outcome;
    });
}

job_change_outcome change_job(const database& db, job_id id, const job_changes& what) {
    new_job checked;
    checked.kind = what.kind.value_or(std::string{});
    checked.payload = what.payload.value_or(std::string{});
    checked.priority = what.priority.value_or(0);
    checked.run_at = what.run_at;
    checked.delay = what.delay.value_or(milliseconds{0});
    require_valid(checked, job_queue_settings{}.max_payload_bytes);
    if (what.run_at && what.delay) refuse_input("a job has run_at or delay, not both");
    if (!what.kind && !what.payload && !what.priority && !what.run_at && !what.delay) {
        refuse_input("say what is to change: kind, payload, priority, run_at or delay");
    }
    bool is_changed = false;
    return repeatedly(db, [&](connection& on, store_set& stores) {
        job_queue_store& all = stores.get<job_queue_store>();
        if (!is_changed) {
            const auto answered = all.change(on, id, what);
            if (answered != job_change_outcome::changed) return answered;
            is_changed = true;  // what follows may be repeated without it
        }
        if (what.delay == milliseconds{0}) all.hurry(on, id);
        if (const auto now = all.describe(on, id)) {
            db.inner()->part<job_notifier>().notify(on, stores, now->queue);
        }
        return job_change_outcome::changed;
    });
}

const char* name_of(job_change_outcome outcome) noexcept {
    switch (outcome) {
        case job_change_outcome::changed:
            return "changed";
        case job_change_outcome::running:
            return "running";
        case job_change_outcome::ended:
            return "ended";
        case job_change_outcome::waits:
            return "waits";
        case job_change_outcome::not_found:
            return "not_found";
    }
    return "unknown";
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

delete_outcome delete_job(const database& db, job_id id) {
    // It may have ended, or what needed it, since the store looked.
    constexpr int max_looks = 10;
    return repeatedly(db, [&](connection& on, store_set& stores) {
        for (int look = 0; look < max_looks; ++look) {
            const auto outcome = stores.get<job_queue_store>().remove(on, id);
            if (outcome != delete_outcome::needed) return outcome;
            if (stores.get<job_need_store>().is_needed(on, id)) return outcome;
        }
        throw error(
            errc::transient, "job " + std::to_string(id) + " changes all the time; delete it again"
        );
    });
}

const char* name_of(delete_outcome outcome) noexcept {
    switch (outcome) {
        case delete_outcome::deleted:
            return "deleted";
        case delete_outcome::not_ended:
            return "not_ended";
        case delete_outcome::needed:
            return "needed";
        case delete_outcome::not_found:
            return "not_found";
    }
    return "unknown";
}

}  // namespace leasehold
