// The upkeep of queues, and managing jobs, on SQLite. The statements: job_queue.sql, job.sql.
#include "jobs/sql_job_queue_store.hpp"

#include <algorithm>

#include "jobs/sql_stores.hpp"
#include "jobs/sqlite/job_ends.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_job_queue_store final : public sql_job_queue_store {
public:
    explicit sqlite_job_queue_store(shared_dialect how)
        : sql_job_queue_store(how), sqlite_(std::move(how)), jobs_(sqlite_->of(jobs_sql, "job")) {}

    std::vector<queue_look> look(connection& on, const std::vector<std::string>& queues) override {
        std::vector<queue_look> all;
        all.reserve(queues.size());
        constexpr std::size_t first = columns::job_queue::look_on_sqlite::queue_look;
        for (const std::string& each : queues) {
            all.push_back(look_in(read(on, "look", {each}).rows.at(0), first));
        }
        return all;
    }

    // In the order of ids, so that each job is judged by the new states of earlier jobs.
    std::int64_t promote(connection& on, std::string_view queue, int max_jobs) override {
        writing write{*sqlite_, texts_, on};
        const parameters which{std::string{queue}, max_jobs};
        if (write("due", which).rows.empty()) return 0;
        write.begin();
        auto due = only_integers(write("due", which));
        std::ranges::sort(due);
        for (const job_id each : due) write("promote", {std::string{queue}, each});
        if (!due.empty()) write.commit();
        return std::ssize(due);
    }

    rescue_result rescue(
        connection& on, std::string_view queue, int max_jobs, const job_retention& kept
    ) override {
        writing write{*sqlite_, texts_, on};
        const parameters which{std::string{queue}, max_jobs};
        if (write("lost", which).rows.empty() && write("never_due", {which[0]}).rows.empty()) {
            return {};
        }
        write.begin();
        const writing write_job{*sqlite_, jobs_, on};
        rescue_result counts;
        for (const row& each : write("never_due", {which[0]}).rows) {
            using column = columns::job_queue::never_due;
            const std::string why = "its due time is no number: " + each.bytes(column::due_at);
            set_aside(write_job, each.integer(column::id), why);
            free_next(write_job, {which[0], each.at(column::ordering_key)});
            ++counts.quarantined;
        }
        const auto lost = write("lost", which).rows;
        for (const row& each : lost) {
            using column = columns::job_queue::lost_on_sqlite;
            const job_id id = each.integer(column::id);
            const bool is_cancelled = each.integer(column::is_cancel_requested) != 0;
            const bool was_last = each.integer(column::was_last) != 0;
            write_job("note_failure", {id, "its worker died"});
            if (!is_cancelled && !was_last) {
                write("rescue", {id});
                ++counts.rescued;
                continue;
            }
            const auto rescues = only_integer(write("count_rescue", {id}));
            if (is_cancelled) {
                end_job(write_job, id, job_state::cancelled, kept_for(kept.cancelled));
            } else {
                const std::string words =
                    "quarantined: its workers died " + std::to_string(rescues) + " times";
                end_job(write_job, id, job_state::discarded, kept_for(kept.discarded), {words, {}});
                ++counts.quarantined;
            }
            free_next(write_job, {which[0], each.at(column::ordering_key)});
        }
        if (!lost.empty() || counts.quarantined > 0) write.commit();
        return counts;
    }

    std::int64_t unblock(connection& on, std::string_view queue, int max_keys, blocked_place& place)
        override {
        const parameters where{std::string{queue}, max_keys, place.key};
        using column = columns::job_queue::look_at_keys;
        place = {};
        std::vector<job_id> ids;
        for (const row& each : read(on, "look_at_keys", where).rows) {
            if (each.is_null(column::id)) {
                place.key = each.bytes(column::key);
            } else {
                ids.push_back(each.integer(column::id));
            }
        }
        if (ids.empty()) return 0;
        std::int64_t freed = 0;
        writing write{*sqlite_, texts_, on};
        write.begin();
        for (const job_id each : ids) {
            freed += write("unblock", {std::string{queue}, each}).affected_rows;
        }
        if (freed > 0) write.commit();
        return freed;
    }

    std::int64_t prune(connection& on, int max_rows, std::size_t kept_back) override {
        if (read(on, "find_over").rows.empty()) return 0;
        return sql_job_queue_store::prune(on, max_rows, kept_back);
    }

    cancel_outcome cancel(connection& on, job_id id, std::chrono::microseconds kept) override {
        writing write{*sqlite_, texts_, on};
        const auto find = [&] { return write("find_job", {id}).rows; };
        const auto nothing_to_do = [](const std::vector<row>& found) {
            if (found.empty()) return std::optional{cancel_outcome::not_found};
            const auto state = state_in(found[0]);
            if (state >= job_state::completed) return std::optional{cancel_outcome::ended};
            const bool is_asked = state == job_state::running &&
                                  found[0].integer(job_column::is_cancel_requested) != 0;
            return is_asked ? std::optional{cancel_outcome::requested} : std::nullopt;
        };
        if (const auto outcome = nothing_to_do(find())) return *outcome;
        write.begin();
        const auto found = find();
        if (const auto outcome = nothing_to_do(found)) return *outcome;
        const row& job = found[0];
        if (state_in(job) == job_state::running) {
            write("ask_to_cancel", {id});
            write.commit();
            return cancel_outcome::requested;
        }
        const writing write_job{*sqlite_, jobs_, on};
        end_job(write_job, id, job_state::cancelled, kept_for(kept));
        if (state_in(job) != job_state::blocked) free_next(write_job, place_of(job));
        write.commit();
        return cancel_outcome::cancelled;
    }

private:
    using job_column = columns::job_queue::find_job;
    static job_state state_in(const row& found) {
        return static_cast<job_state>(found.integer(job_column::state));
    }
    static job_place place_of(const row& job) {
        return {job.at(job_column::queue), job.at(job_column::ordering_key)};
    }

    const shared_dialect sqlite_;
    const statements& jobs_;
};

}  // namespace

std::unique_ptr<job_queue_store> make_job_queue_store(shared_dialect how) {
    return std::make_unique<sqlite_job_queue_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
