// The model's jobs: enqueued, claimed and ended.
#include <algorithm>
#include <limits>
#include <utility>

#include "jobs/job_store.hpp"
#include "leasehold/error.hpp"
#include "support/memory_jobs.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;

bool is_inside(connection& on) {
    return on.state() == connection_state::in_transaction;
}

// When it is due, where that is not now.
std::optional<microseconds> due_of(const memory_tables& tables, const new_job& what) {
    std::optional<microseconds> due;
    if (what.run_at) due = what.run_at->time_since_epoch();
    if (what.delay > microseconds{0}) due = tables.now + what.delay;
    return due && *due > tables.now ? due : std::nullopt;
}

// The number of jobs that may start in a queue now.
class allowance {
public:
    allowance(const memory_tables& tables, queue_row& row, std::int64_t running)
        : row_(row),
          starts_from_(std::max(row.starts_from, tables.now)),
          spent_(starts_from_ - tables.now),
          left_(
              row.limits.max_running ? *row.limits.max_running - running
                                     : std::numeric_limits<int>::max()
          ) {}

    bool has_room() const {
        if (left_ <= 0 || row_.is_paused) return false;
        return !row_.limits.max_starts ||
               spent_ + cost_of(started_ + 1) <= microseconds{row_.limits.starts_per};
    }
    void start() {
        --left_;
        ++started_;
    }
    void pay() {
        if (row_.limits.max_starts && started_ > 0) {
            row_.starts_from = starts_from_ + cost_of(started_);
        }
    }

private:
    microseconds cost_of(std::int64_t starts) const {
        const std::int64_t per = microseconds{row_.limits.starts_per}.count();
        const std::int64_t max = *row_.limits.max_starts;
        return microseconds{(starts * per + max - 1) / max};
    }

    queue_row& row_;
    const microseconds starts_from_;
    const microseconds spent_;
    std::int64_t left_;
    std::int64_t started_ = 0;
};

claim_result claim_in(memory_tables& tables, seen_jobs& jobs, const claim_request& wanted) {
    claim_result got;
    got.session_has_ended = !is_live_session(tables, wanted.session);
    if (got.session_has_ended) return got;
    const auto known = tables.queues.find(wanted.queue);
    queue_row no_limits;
    queue_row& row_of_queue = known == tables.queues.end() ? no_limits : known->second;
    const auto running = jobs.where([&](job_id, const job_row& row) {
        return row.queue == wanted.queue && row.state == job_state::running;
    });
    allowance room{tables, row_of_queue, std::ssize(running)};
    auto waiting = jobs.where([&](job_id id, const job_row& row) {
        return row.queue == wanted.queue && row.state == job_state::available &&
               !jobs.is_locked(id) &&
               (wanted.kinds.empty() || std::ranges::count(wanted.kinds, row.what.kind) > 0);
    });
    std::ranges::stable_sort(waiting, {}, [&](job_id id) { return jobs.find(id)->what.priority; });
    for (const job_id id : waiting) {
        if (std::ssize(got.jobs) == wanted.max_jobs || !room.has_room()) break;
        job_row row = *jobs.find(id);
        if (!jobs.may_start(id, row)) {
            row.state = job_state::blocked;
            jobs.put(id, std::move(row));
            continue;
        }
        row.state = job_state::running;
        row.session = wanted.session;
        row.node_info = wanted.node_info;
        row.claimed_at = tables.now;
        row.is_cancel_requested = false;
        row.progress.clear();
        if (row.what.unique == unique_until::started) row.what.unique_key.clear();
        ++row.token;
        ++row.attempts;
        got.jobs.push_back(claimed_from(id, row));
        jobs.put(id, std::move(row));
        room.start();
    }
    room.pay();
    return got;
}

bool is_claim_of(const job_row* row, const session_id& whose, fencing_token token) {
    return row && row->state == job_state::running && row->session == whose &&
           row->token == token.number;
}

// Ends one job, and returns its new state.
job_state finish_one(
    memory_tables& tables, seen_jobs& jobs, const job_end& end, const job_retention& kept
) {
    job_row row = *jobs.find(end.id);
    const job_state to = under_request(end.becomes, row.is_cancel_requested);
    const bool has_failed = to == job_state::retryable;
    if (to >= job_state::completed) {
        auto keep = kept.discarded;
        if (to == job_state::cancelled) keep = kept.cancelled;
        if (to == job_state::completed) {
            row.result = end.words;
            keep = end.words.empty() ? kept.completed : kept.with_result;
        } else if (!end.words.empty()) {
            row.note_failure(end.words, tables.now);
            row.error = end.words;
        }
        jobs.end(end.id, row, to, keep);
        jobs.free_next_of(row);
        return to;
    }
    row.session.reset();
    row.state = to;
    if (has_failed) {
        row.note_failure(end.words, tables.now);
        row.error = end.words;
    } else {
        --row.attempts;
    }
    if (to != job_state::available) row.due_at = tables.now + end.delay;
    row.available_at.reset();
    if (to == job_state::available) row.available_at = tables.now;
    jobs.put(end.id, row);
    if (to == job_state::scheduled) jobs.free_next_of(row);
    return to;
}

class memory_job_store final : public job_store {
public:
    explicit memory_job_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    std::vector<enqueued_job> enqueue(
        connection& on, std::string_view queue, const std::vector<new_job>& what
    ) override {
        using made = std::vector<enqueued_job>;
        const auto attempt = [queue = std::string(queue), what, inside = is_inside(on)](
                                 memory_tables& tables, const connection& from
                             ) -> std::optional<made> {
            seen_jobs jobs{tables, from, inside};
            for (const new_job& each : what) {
                if (each.unique_key.empty()) continue;
                if (jobs.is_contested(queue, each.unique_key)) return std::nullopt;
                if (each.conflict == on_conflict::fail &&
                    jobs.find_unique(queue, each.unique_key)) {
                    throw error(errc::constraint, "there is a job of this unique key");
                }
            }
            made all;
            for (const new_job& each : what) all.push_back(enqueue_one(tables, jobs, queue, each));
            return all;
        };
        return server_->ask<made>(on, "enqueue", attempt);
    }

    claim_result claim(connection& on, const claim_request& wanted) override {
        const auto attempt =
            [wanted, inside = is_inside(on)](memory_tables& tables, const connection& from) {
                seen_jobs jobs{tables, from, inside};
                return std::optional{claim_in(tables, jobs, wanted)};
            };
        return server_->ask<claim_result>(on, "claim_jobs", attempt);
    }

    end_states finish(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept
    ) override {
        using answers = end_states;
        const auto attempt = [whose, ends, kept, inside = is_inside(on)](
                                 memory_tables& tables, const connection& from
                             ) -> std::optional<answers> {
            seen_jobs jobs{tables, from, inside};
            // The transaction that has the row decides whether there is a claim to end.
            const auto is_locked = [&](const job_end& each) {
                return jobs.is_locked(each.id) &&
                       is_claim_of(jobs.find(each.id), whose, each.token);
            };
            if (std::ranges::any_of(ends, is_locked)) return std::nullopt;
            answers all;
            for (const job_end& each : ends) {
                const bool is_ours = is_claim_of(jobs.find(each.id), whose, each.token);
                all.push_back(
                    is_ours ? std::optional{finish_one(tables, jobs, each, kept)} : std::nullopt
                );
            }
            return all;
        };
        return server_->ask<answers>(on, "finish_jobs", attempt);
    }

    std::vector<claim_standing> standings(
        connection& on, const session_id& whose, const std::vector<job_claim>& held
    ) override {
        using answers = std::vector<claim_standing>;
        const auto attempt = [whose, held](memory_tables& tables, const connection& from) {
            const seen_jobs jobs{tables, from, false};
            answers all;
            for (const job_claim& each : held) {
                const job_row* const row = jobs.find(each.id);
                const bool is_held = is_claim_of(row, whose, each.token);
                const auto asked = is_held && row->is_cancel_requested
                                       ? claim_standing::cancel_requested
                                       : claim_standing::held;
                all.push_back(is_held ? asked : claim_standing::gone);
            }
            return std::optional{all};
        };
        return server_->ask<answers>(on, "standings_of_jobs", attempt);
    }

    std::vector<claimed_job> find_claims(
        connection& on, std::string_view queue, const session_id& whose
    ) override {
        using found = std::vector<claimed_job>;
        const auto attempt = [queue = std::string(queue),
                              whose](memory_tables& tables, const connection& from) {
            const seen_jobs jobs{tables, from, false};
            found all;
            const auto is_ours = [&](job_id, const job_row& row) {
                return row.queue == queue && row.state == job_state::running &&
                       row.session == whose;
            };
            for (const job_id id : jobs.where(is_ours)) {
                all.push_back(claimed_from(id, *jobs.find(id)));
            }
            return std::optional{all};
        };
        return server_->ask<found>(on, "find_claims", attempt);
    }

    bool note_progress(
        connection& on,
        const session_id& whose,
        job_id id,
        fencing_token token,
        const std::string& words
    ) override {
        return write(on, "note_progress", whose, {id, token}, &job_row::progress, words);
    }

    bool save_checkpoint(
        connection& on, const session_id& whose, const job_claim& which, const std::string& state
    ) override {
        return write(on, "save_checkpoint", whose, which, &job_row::checkpoint, state);
    }

private:
    // Writes a text of a running job. False if its claim is lost.
    bool write(
        connection& on,
        const char* operation,
        const session_id& whose,
        const job_claim& which,
        std::string job_row::*column,
        const std::string& text
    ) {
        const auto attempt = [whose, which, column, text, inside = is_inside(on)](
                                 memory_tables& tables, const connection& from
                             ) -> std::optional<bool> {
            seen_jobs jobs{tables, from, inside};
            if (!is_claim_of(jobs.find(which.id), whose, which.token)) return false;
            if (jobs.is_locked(which.id)) return std::nullopt;
            job_row row = *jobs.find(which.id);
            row.*column = text;
            jobs.put(which.id, std::move(row));
            return true;
        };
        return server_->ask<bool>(on, operation, attempt);
    }

    static enqueued_job enqueue_one(
        memory_tables& tables, seen_jobs& jobs, const std::string& queue, const new_job& what
    ) {
        const auto due_at = due_of(tables, what);
        if (!what.unique_key.empty()) {
            if (const auto other = jobs.find_unique(queue, what.unique_key)) {
                const bool is_running = jobs.find(*other)->state == job_state::running;
                if (what.conflict == on_conflict::replace && !is_running) {
                    replace(jobs, *other, what, tables.now, due_at);
                }
                return {*other, false, is_running};
            }
        }
        job_row row;
        row.queue = queue;
        row.what = what;
        row.enqueued_at = tables.now;
        row.due_at = due_at;
        if (due_at) {
            row.state = job_state::scheduled;
        } else if (jobs.is_behind_others(std::numeric_limits<job_id>::max(), row)) {
            row.state = job_state::blocked;
        }
        return {jobs.add(std::move(row)), true};
    }

    static void replace(
        seen_jobs& jobs,
        job_id id,
        const new_job& by,
        microseconds now,
        const std::optional<microseconds>& due_at
    ) {
        job_row row = *jobs.find(id);
        const std::string ordering_key = row.what.ordering_key;
        row.what = by;
        row.what.ordering_key = ordering_key;
        row.enqueued_at = now;
        row.available_at.reset();
        row.attempts = 0;
        row.rescues = 0;
        row.error.clear();
        row.failures.clear();
        row.progress.clear();
        row.checkpoint.clear();
        const bool waits_for_others = row.due_at && is_never(*row.due_at);
        if (!waits_for_others) {
            row.due_at = due_at;
            const bool is_blocked = row.state == job_state::blocked;
            if (due_at) {
                row.state = job_state::scheduled;
            } else if (!is_blocked) {
                row.state = job_state::available;
            }
        }
        jobs.put(id, std::move(row));
    }

    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<job_store> make_memory_job_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_job_store>(std::move(of));
}

}  // namespace leasehold::testing
