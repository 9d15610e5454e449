#include "support/memory_jobs.hpp"

#include <algorithm>
#include <cstddef>

#include "jobs/job_need_store.hpp"
#include "support/memory_server.hpp"

namespace leasehold::testing {
namespace {

bool has_key(
    const std::optional<job_row>& row, const std::string& queue, const std::string& unique_key
) {
    return row && !row->has_ended() && row->queue == queue && row->what.unique_key == unique_key;
}

// As the fragment `cut` of the stores.
std::string cut(const std::string& words) {
    std::vector<std::size_t> begins;
    for (std::size_t at = 0; at < words.size(); ++at) {
        if ((words[at] & '\xC0') != '\x80') begins.push_back(at);
    }
    if (begins.size() <= 1'000) return words;
    return words.substr(0, begins[200]) + "\n...\n" + words.substr(begins[begins.size() - 795]);
}

}  // namespace

void job_row::note_failure(const std::string& words, std::chrono::microseconds ended) {
    if (failures.size() == 20) failures.erase(failures.begin());
    failures.push_back({attempts, node_info, cut(words), claimed_at, ended});
}

const std::map<job_id, job_versions>& seen_jobs::versions_of_all() const {
    return tables_.jobs;
}

std::chrono::microseconds seen_jobs::now() const {
    return tables_.now;
}

const job_row* seen_jobs::find(job_id id) const {
    const auto found = tables_.jobs.find(id);
    if (found == tables_.jobs.end()) return nullptr;
    const job_versions& versions = found->second;
    const auto& row = versions.writer == &from_ ? versions.written : versions.committed;
    return row ? &*row : nullptr;
}

bool seen_jobs::is_locked(job_id id) const {
    const auto found = tables_.jobs.find(id);
    return found != tables_.jobs.end() && found->second.writer && found->second.writer != &from_;
}

bool seen_jobs::is_contested(const std::string& queue, const std::string& unique_key) const {
    return std::ranges::any_of(tables_.jobs, [&](const auto& each) {
        const job_versions& versions = each.second;
        return versions.writer && versions.writer != &from_ &&
               (has_key(versions.committed, queue, unique_key) ||
                has_key(versions.written, queue, unique_key));
    });
}

std::optional<job_id> seen_jobs::find_unique(
    const std::string& queue, const std::string& unique_key
) const {
    const auto found = where([&](job_id, const job_row& row) {
        return !row.has_ended() && row.queue == queue && row.what.unique_key == unique_key;
    });
    return found.empty() ? std::nullopt : std::optional{found.front()};
}

void seen_jobs::put(job_id id, std::optional<job_row> row) {
    ++tables_.writes;
    if (is_inside_) {
        job_versions& versions = tables_.jobs[id];
        versions.writer = &from_;
        versions.written = std::move(row);
    } else if (row) {
        tables_.jobs[id].committed = std::move(row);
    } else {
        tables_.jobs.erase(id);
    }
}

job_id seen_jobs::add(job_row row) {
    const job_id id = ++tables_.last_job;
    put(id, std::move(row));
    return id;
}

int seen_jobs::max_running_per_key(const std::string& queue) const {
    const auto found = tables_.queues.find(queue);
    return found == tables_.queues.end() ? 1 : found->second.limits.max_running_per_key;
}

bool seen_jobs::is_behind_others(job_id id, const job_row& row) const {
    if (row.what.ordering_key.empty()) return false;
    const auto before = where([&](job_id other, const job_row& each) {
        return other < id && each.is_of_key(row) && !each.has_ended() &&
               each.state != job_state::scheduled;
    });
    return std::ssize(before) >= max_running_per_key(row.queue);
}

bool seen_jobs::may_start(job_id id, const job_row& row) const {
    if (row.what.ordering_key.empty()) return true;
    const auto in_its_way = where([&](job_id other, const job_row& each) {
        if (!each.is_of_key(row) || each.has_ended() || other == id) return false;
        return other < id ? each.state != job_state::scheduled : each.state == job_state::running;
    });
    return std::ssize(in_its_way) < max_running_per_key(row.queue);
}

void seen_jobs::free_next_of(const job_row& gone) {
    if (gone.what.ordering_key.empty()) return;
    const auto blocked = where([&](job_id id, const job_row& each) {
        return each.is_of_key(gone) && each.state == job_state::blocked && !is_locked(id);
    });
    if (blocked.empty()) return;
    job_row next = *find(blocked.front());
    next.state = job_state::available;
    put(blocked.front(), std::move(next));
}

void seen_jobs::end(job_id id, job_row row, job_state as, std::chrono::microseconds kept) {
    row.state = as;
    row.session.reset();
    row.due_at.reset();
    row.ended_at = tables_.now;
    row.prune_at = tables_.now + kept;
    const bool is_kept = kept > std::chrono::microseconds{0};
    put(id, is_kept ? std::optional{std::move(row)} : std::nullopt);
}

void end_jobs_of(memory_tables& tables, const connection& whose, bool commit) {
    for (auto at = tables.jobs.begin(); at != tables.jobs.end();) {
        job_versions& versions = at->second;
        if (versions.writer == &whose) {
            if (commit) versions.committed = std::move(versions.written);
            versions.written.reset();
            versions.writer = nullptr;
        }
        at = versions.committed || versions.writer ? std::next(at) : tables.jobs.erase(at);
    }
}

bool is_never(std::chrono::microseconds due_at) {
    return due_at == job_need_store::never.time_since_epoch();
}

claimed_job claimed_from(job_id id, const job_row& row) {
    claimed_job job;
    job.id = id;
    job.token = {row.token};
    job.kind = row.what.kind;
    job.payload = row.what.payload;
    job.attempts = row.attempts;
    job.rescues = row.rescues;
    job.ordering_key = row.what.ordering_key;
    job.retry = row.what.retry;
    job.attempt_timeout = row.what.attempt_timeout;
    job.waited = row.claimed_at - row.available_at.value_or(row.enqueued_at);
    job.traceparent = row.what.traceparent;
    job.checkpoint = row.checkpoint;
    return job;
}

job_info info_of(const memory_tables& tables, job_id id, const job_row& row) {
    job_info info;
    info.id = id;
    info.queue = row.queue;
    info.kind = row.what.kind;
    info.state = row.state;
    info.priority = row.what.priority;
    info.attempts = row.attempts;
    info.max_attempts = row.what.retry.max_attempts;
    info.rescues = row.rescues;
    info.token = {row.token};
    info.payload = row.what.payload;
    info.unique_key = row.what.unique_key;
    info.ordering_key = row.what.ordering_key;
    info.node_info = row.node_info;
    info.progress = row.progress;
    info.error = row.error;
    info.result = row.result;
    info.is_cancel_requested = row.is_cancel_requested && !row.has_ended();
    info.enqueued_ago = tables.now - row.enqueued_at;
    const bool waits = row.due_at && is_never(*row.due_at);
    if (waits) info.state = job_state::blocked;
    if (row.due_at && !waits)
        info.due_in = std::max(std::chrono::microseconds{0}, *row.due_at - tables.now);
    if (row.state == job_state::running) info.running_for = tables.now - row.claimed_at;
    if (row.has_ended()) info.ended_ago = tables.now - row.ended_at;
    return info;
}

}  // namespace leasehold::testing
