// The model's operations on jobs of any worker.
#include "jobs/job_queue_store.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "support/memory_jobs.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::vector<job_id> in_order(std::vector<job_id> ids, job_order order) {
    if (order == job_order::newest_first) std::ranges::reverse(ids);
    return ids;
}

bool is_needed(const memory_tables& tables, job_id id) {
    const auto need = tables.needs.lower_bound({id, 0});
    return need != tables.needs.end() && need->first.first == id;
}

bool is_as_asked(const job_info& job, const job_filter& filter) {
    const auto age = job.ended_ago.value_or(job.enqueued_ago);
    return (filter.kind.empty() || job.kind == filter.kind) &&
           (filter.ordering_key.empty() || job.ordering_key == filter.ordering_key) &&
           (filter.error_text.empty() || job.error.find(filter.error_text) != std::string::npos) &&
           (!filter.since || age <= *filter.since);
}

class memory_job_queue_store final : public job_queue_store {
public:
    explicit memory_job_queue_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    std::vector<queue_look> look(connection& on, const std::vector<std::string>& queues) override {
        using looks = std::vector<queue_look>;
        return ask<looks>(on, "look", [queues](memory_tables& tables, seen_jobs& jobs) {
            looks all;
            for (const std::string& queue : queues) {
                queue_look& seen = all.emplace_back();
                describe(tables, queue, seen);
                jobs.where([&](job_id, const job_row& row) {
                    if (row.queue != queue) return false;
                    seen.has_available = seen.has_available || row.state == job_state::available;
                    const bool is_blocked = row.state == job_state::blocked;
                    seen.some_are_blocked = seen.some_are_blocked || is_blocked;
                    if (!row.due_at) return false;
                    if (is_never(*row.due_at)) {
                        seen.some_wait = true;
                        return false;
                    }
                    const auto due_in = std::max(microseconds{0}, *row.due_at - tables.now);
                    seen.next_due_in = std::min(seen.next_due_in.value_or(due_in), due_in);
                    return true;
                });
            }
            return std::optional{all};
        });
    }

    std::int64_t promote(connection& on, std::string_view queue, int max_jobs) override {
        const auto attempt = [queue = std::string(queue),
                              max_jobs](memory_tables& tables, seen_jobs& jobs) {
            auto due = jobs.where([&](job_id id, const job_row& row) {
                return row.queue == queue && row.due_at && *row.due_at <= tables.now &&
                       !jobs.is_locked(id);
            });
            std::ranges::stable_sort(due, {}, [&](job_id id) { return jobs.find(id)->due_at; });
            due.resize(std::min(due.size(), static_cast<std::size_t>(max_jobs)));
            for (const job_id id : due) make_due(jobs, id, *jobs.find(id)->due_at);
            return std::optional{static_cast<std::int64_t>(due.size())};
        };
        return ask<std::int64_t>(on, "promote", attempt);
    }

    bool begin_maintenance(connection& on, std::string_view queue, microseconds every) override {
        const auto attempt = [queue = std::string(queue),
                              every](memory_tables& tables, seen_jobs&) {
            auto& swept_at = tables.queues[queue].swept_at;
            if (swept_at && *swept_at > tables.now - every) return std::optional{false};
            swept_at = tables.now;
            ++tables.writes;
            return std::optional{true};
        };
        return ask<bool>(on, "begin_maintenance", attempt);
    }

    rescue_result rescue(
        connection& on, std::string_view queue, int max_jobs, const job_retention& kept
    ) override {
        const auto attempt =
            [queue = std::string(queue), max_jobs, kept](memory_tables& tables, seen_jobs& jobs) {
                auto lost = jobs.where([&](job_id id, const job_row& row) {
                    return row.queue == queue && row.state == job_state::running &&
                           !is_live_session(tables, *row.session) && !jobs.is_locked(id);
                });
                lost.resize(std::min(lost.size(), static_cast<std::size_t>(max_jobs)));
                rescue_result done;
                for (const job_id id : lost) rescue_one(jobs, id, kept, done);
                return std::optional{done};
            };
        return ask<rescue_result>(on, "rescue", attempt);
    }

    std::int64_t unblock(connection& on, std::string_view queue, int max_keys, blocked_place& place)
        override {
        using answer = std::pair<std::int64_t, blocked_place>;
        const auto attempt =
            [queue = std::string(queue), max_keys, place](memory_tables&, seen_jobs& jobs) {
                std::set<std::string> behind;
                const auto blocked = jobs.where([&](job_id, const job_row& row) {
                    const std::string& its = row.what.ordering_key;
                    if (row.queue != queue || row.has_ended() || its.empty()) return false;
                    if (its > place.key) behind.insert(its);
                    return row.state == job_state::blocked;
                });
                answer found{0, {}};
                if (blocked.empty()) return std::optional{found};
                auto end = behind.begin();
                for (int each = 0; each < max_keys && end != behind.end(); ++each) ++end;
                if (std::distance(behind.begin(), end) == max_keys) {
                    found.second.key = *std::prev(end);
                }
                behind.erase(end, behind.end());
                for (const job_id id : blocked) {
                    job_row row = *jobs.find(id);
                    if (!behind.contains(row.what.ordering_key)) continue;
                    if (jobs.is_locked(id) || jobs.is_behind_others(id, row)) continue;
                    row.state = job_state::available;
                    jobs.put(id, std::move(row));
                    ++found.first;
                }
                return std::optional{found};
            };
        const auto found = ask<answer>(on, "unblock", attempt);
        place = found.second;
        return found.first;
    }

    std::int64_t prune(connection& on, int max_rows, std::size_t kept_back) override {
        const auto attempt = [max_rows, kept_back](memory_tables& tables, seen_jobs& jobs) {
            auto over = jobs.where([&](job_id id, const job_row& row) {
                return row.has_ended() && row.prune_at <= tables.now && !jobs.is_locked(id) &&
                       !is_needed(tables, id);
            });
            const auto passed = static_cast<std::ptrdiff_t>(std::min(over.size(), kept_back));
            over.erase(over.begin(), over.begin() + passed);
            over.resize(std::min(over.size(), static_cast<std::size_t>(max_rows)));
            for (const job_id id : over) jobs.put(id, std::nullopt);
            return std::optional{static_cast<std::int64_t>(over.size())};
        };
        return ask<std::int64_t>(on, "prune", attempt);
    }

    cancel_outcome cancel(connection& on, job_id id, microseconds kept) override {
        using answer = std::optional<cancel_outcome>;
        return ask<cancel_outcome>(
            on,
            "cancel",
            [id, kept](memory_tables&, seen_jobs& jobs) -> answer {
                if (jobs.is_locked(id)) return std::nullopt;
                const job_row* const found = jobs.find(id);
                if (!found) return cancel_outcome::not_found;
                if (found->has_ended()) return cancel_outcome::ended;
                job_row row = *found;
                if (row.state == job_state::running) {
                    row.is_cancel_requested = true;
                    jobs.put(id, std::move(row));
                    return cancel_outcome::requested;
                }
                const bool was_in_the_way =
                    row.state == job_state::available || row.state == job_state::retryable;
                jobs.end(id, row, job_state::cancelled, kept);
                if (was_in_the_way) jobs.free_next_of(row);
                return cancel_outcome::cancelled;
            }
        );
    }

    retry_outcome retry(connection& on, job_id id) override {
        using answer = std::optional<retry_outcome>;
        return ask<retry_outcome>(on, "retry", [id](memory_tables&, seen_jobs& jobs) -> answer {
            if (jobs.is_locked(id)) return std::nullopt;
            const job_row* const found = jobs.find(id);
            if (!found) return retry_outcome::not_found;
            if (found->state == job_state::running) return retry_outcome::running;
            if (!found->has_ended()) {
                if (found->due_at) make_due(jobs, id, jobs.now());
                return retry_outcome::available;
            }
            return redrive(jobs, id, *found);
        });
    }

    job_change_outcome change(connection& on, job_id id, const job_changes& what) override {
        using answer = std::optional<job_change_outcome>;
        const auto attempt = [&](memory_tables& tables, seen_jobs& jobs) -> answer {
            if (jobs.is_locked(id)) return std::nullopt;
            const job_row* const found = jobs.find(id);
            if (!found) return job_change_outcome::not_found;
            if (found->state == job_state::running) return job_change_outcome::running;
            if (found->has_ended()) return job_change_outcome::ended;
            job_row row = *found;
            const bool has_time = what.run_at || what.delay;
            if (has_time && row.due_at && is_never(*row.due_at)) return job_change_outcome::waits;
            if (has_time && what.delay != milliseconds{0}) {
                row.due_at = what.run_at ? std::max(what.run_at->time_since_epoch(), tables.now)
                                         : tables.now + microseconds{*what.delay};
                row.available_at.reset();
                if (row.state != job_state::retryable) row.state = job_state::scheduled;
            }
            if (what.kind || what.payload) row.checkpoint.clear();
            if (what.kind) row.what.kind = *what.kind;
            if (what.payload) row.what.payload = *what.payload;
            if (what.priority) row.what.priority = *what.priority;
            jobs.put(id, std::move(row));
            return job_change_outcome::changed;
        };
        return ask<job_change_outcome>(on, "change_job", attempt);
    }

    void hurry(connection& on, job_id id) override {
        ask<bool>(on, "hurry_job", [id](memory_tables&, seen_jobs& jobs) -> std::optional<bool> {
            const job_row* const found = jobs.is_locked(id) ? nullptr : jobs.find(id);
            if (found && !found->has_ended() && found->due_at) make_due(jobs, id, jobs.now());
            return true;
        });
    }

    delete_outcome remove(connection& on, job_id id) override {
        using answer = std::optional<delete_outcome>;
        return ask<delete_outcome>(
            on,
            "remove_job",
            [id](memory_tables& tables, seen_jobs& jobs) -> answer {
                if (jobs.is_locked(id)) return std::nullopt;
                const job_row* const found = jobs.find(id);
                if (!found) return delete_outcome::not_found;
                if (!found->has_ended()) return delete_outcome::not_ended;
                if (is_needed(tables, id)) return delete_outcome::needed;
                jobs.put(id, std::nullopt);
                return delete_outcome::deleted;
            }
        );
    }

    std::optional<job_info> describe(connection& on, job_id id) override {
        using answer = std::optional<job_info>;
        return ask<answer>(on, "describe_job", [id](memory_tables& tables, seen_jobs& jobs) {
            const job_row* const row = jobs.find(id);
            if (!row) return std::optional{answer{}};
            job_info info = info_of(tables, id, *row);
            info.traceparent = row->what.traceparent;
            info.checkpoint = row->checkpoint;
            info.failures = row->failures;
            for (job_failure& each : info.failures) {
                each.began_ago = tables.now - each.began_ago;
                each.ended_ago = tables.now - each.ended_ago;
            }
            return std::optional{answer{std::move(info)}};
        });
    }

    std::vector<job_info> list(connection& on, const job_filter& filter, const id_range& among)
        override {
        using found = std::vector<job_info>;
        return ask<found>(on, "list_jobs", [=](memory_tables& tables, seen_jobs& jobs) {
            found all;
            const auto is_asked_for = [&](job_id id, const job_row& row) {
                return id >= among.first && id <= among.last &&
                       (filter.queue.empty() || row.queue == filter.queue) &&
                       (!filter.state || shown_state(row) == *filter.state);
            };
            for (const job_id id : in_order(jobs.where(is_asked_for), filter.order)) {
                if (std::ssize(all) == filter.limit) break;
                auto seen = info_of(tables, id, *jobs.find(id));
                if (is_as_asked(seen, filter)) all.push_back(std::move(seen));
            }
            return std::optional{all};
        });
    }
    id_range part_of(connection&, const id_range& among, job_order, int) override { return among; }

    std::optional<queue_row> find_queue(connection& on, std::string_view name) override {
        using answer = std::optional<job_queue_store::queue_row>;
        const auto attempt = [name = std::string(name)](memory_tables& tables, seen_jobs&) {
            const auto found = tables.queues.find(name);
            if (found == tables.queues.end()) return std::optional{answer{}};
            return std::optional{answer{{found->second.is_paused, found->second.limits}}};
        };
        return ask<answer>(on, "find_queue", attempt);
    }

    void set_limits(connection& on, std::string_view name, const queue_limits& limits) override {
        const auto attempt = [name = std::string(name), limits](memory_tables& tables, seen_jobs&) {
            auto& row = tables.queues[name];
            const bool is_same_rate = row.limits.max_starts == limits.max_starts &&
                                      row.limits.starts_per == limits.starts_per;
            if (!is_same_rate) row.starts_from = {};
            row.limits = limits;
            ++tables.writes;
            return std::optional{true};
        };
        ask<bool>(on, "set_limits", attempt);
    }

    void set_paused(connection& on, std::string_view name, bool is_paused) override {
        const auto attempt = [name = std::string(name),
                              is_paused](memory_tables& tables, seen_jobs&) {
            tables.queues[name].is_paused = is_paused;
            ++tables.writes;
            return std::optional{true};
        };
        ask<bool>(on, "set_paused", attempt);
    }

    std::map<std::string, std::int64_t> count_available(
        connection& on, std::string_view queue, const std::optional<std::string>& kind, int max_rows
    ) override {
        using counts = std::map<std::string, std::int64_t>;
        const auto attempt = [=, name = std::string(queue)](memory_tables&, seen_jobs& jobs) {
            counts all;
            auto left = max_rows;
            jobs.where([&](job_id, const job_row& row) {
                const bool is_wanted = row.queue == name && row.state == job_state::available &&
                                       (!kind || row.what.kind == *kind);
                if (is_wanted && left-- > 0) ++all[row.what.kind];
                return false;
            });
            return std::optional{all};
        };
        return ask<counts>(on, "count_available", attempt);
    }

    std::vector<std::string> queue_names(connection& on) override {
        using names = std::vector<std::string>;
        return ask<names>(on, "queue_names", [](memory_tables& tables, seen_jobs& jobs) {
            std::set<std::string> all;
            for (const auto& [name, row] : tables.queues) all.insert(name);
            jobs.where([&](job_id, const job_row& row) {
                if (!row.has_ended()) all.insert(row.queue);
                return false;
            });
            return std::optional{names(all.begin(), all.end())};
        });
    }

    queue_info describe_queue(connection& on, std::string_view name) override {
        const auto attempt = [name = std::string(name)](memory_tables& tables, seen_jobs& jobs) {
            queue_info info;
            info.name = name;
            if (const auto found = tables.queues.find(name); found != tables.queues.end()) {
                info.is_paused = found->second.is_paused;
                info.limits = found->second.limits;
            }
            jobs.where([&](job_id, const job_row& row) {
                if (row.queue != name) return false;
                ++info.jobs[shown_state(row)];
                if (row.state != job_state::available) return false;
                const auto waits = tables.now - row.available_at.value_or(row.enqueued_at);
                info.oldest_available = std::max(info.oldest_available.value_or(waits), waits);
                return true;
            });
            return std::optional{info};
        };
        return ask<queue_info>(on, "describe_queue", attempt);
    }

    std::vector<queue_info> describe_queues(connection& on) override {
        std::vector<queue_info> all;
        for (const std::string& each : queue_names(on)) all.push_back(describe_queue(on, each));
        return all;
    }

private:
    template <class Answer, class Attempt>
    Answer ask(connection& on, std::string_view name, Attempt attempt) const {
        const bool is_inside = on.state() == connection_state::in_transaction;
        return server_->ask<Answer>(
            on,
            name,
            [attempt, is_inside](memory_tables& tables, const connection& from) {
                seen_jobs jobs{tables, from, is_inside};
                return std::optional<Answer>{attempt(tables, jobs)};
            }
        );
    }

    static job_state shown_state(const job_row& row) {
        return row.due_at && is_never(*row.due_at) ? job_state::blocked : row.state;
    }

    // Fills in the parts of a look that do not come from the jobs.
    static void describe(const memory_tables& tables, const std::string& queue, queue_look& seen) {
        seen.some_are_needed = !tables.needs.empty();
        const auto found = tables.queues.find(queue);
        if (found != tables.queues.end()) {
            const testing::queue_row& row = found->second;
            seen.is_paused = row.is_paused;
            seen.limits = row.limits;
            if (row.swept_at) seen.maintained_ago = tables.now - *row.swept_at;
        }
        for (const auto& [name, row] : tables.schedules) {
            if (!row.committed || row.committed->what.queue != queue || row.committed->is_paused) {
                continue;
            }
            const auto fire_in =
                std::max(microseconds{0}, row.committed->next.time_since_epoch() - tables.now);
            seen.next_fire_in = std::min(seen.next_fire_in.value_or(fire_in), fire_in);
        }
    }

    static void make_due(seen_jobs& jobs, job_id id, microseconds since) {
        job_row row = *jobs.find(id);
        row.available_at = std::max(since, row.enqueued_at);
        row.due_at.reset();
        row.state = jobs.is_behind_others(id, row) ? job_state::blocked : job_state::available;
        jobs.put(id, std::move(row));
    }

    static void rescue_one(
        seen_jobs& jobs, job_id id, const job_retention& kept, rescue_result& done
    ) {
        job_row row = *jobs.find(id);
        ++row.rescues;
        row.note_failure("its worker died", jobs.now());
        if (row.is_cancel_requested) {
            jobs.end(id, row, job_state::cancelled, kept.cancelled);
            return jobs.free_next_of(row);
        }
        if (row.rescues >= row.what.max_rescues) {
            ++done.quarantined;
            row.error = "quarantined: its workers died " + std::to_string(row.rescues) + " times";
            jobs.end(id, row, job_state::discarded, kept.discarded);
            return jobs.free_next_of(row);
        }
        ++done.rescued;
        --row.attempts;
        row.session.reset();
        row.state = job_state::available;
        row.available_at = jobs.now();
        jobs.put(id, std::move(row));
    }

    static std::optional<retry_outcome> redrive(seen_jobs& jobs, job_id id, job_row row) {
        if (!row.what.unique_key.empty()) {
            if (jobs.is_contested(row.queue, row.what.unique_key)) return std::nullopt;
            if (jobs.find_unique(row.queue, row.what.unique_key)) return retry_outcome::duplicate;
        }
        if (row.state == job_state::completed) row.checkpoint.clear();
        row.state = job_state::available;
        row.available_at = jobs.now();
        row.attempts = row.rescues = 0;
        row.is_cancel_requested = false;
        row.progress.clear();
        row.error.clear();
        row.result.clear();
        jobs.put(id, std::move(row));
        return retry_outcome::redriven;
    }

    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<job_queue_store> make_memory_job_queue_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_job_queue_store>(std::move(of));
}

}  // namespace leasehold::testing
