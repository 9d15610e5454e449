// The upkeep of queues, and managing jobs, on PostgreSQL. The statements: job_queue.sql.
#include "jobs/sql_job_queue_store.hpp"

#include "leasehold/error.hpp"
#include "sql/postgres/array_text.hpp"
#include "sql/postgres/dialect.hpp"

namespace leasehold::postgres_dialect {
namespace {

class postgres_job_queue_store final : public sql_job_queue_store {
public:
    explicit postgres_job_queue_store(shared_dialect how) : sql_job_queue_store(std::move(how)) {}

    std::vector<queue_look> look(connection& on, const std::vector<std::string>& queues) override {
        std::vector<queue_look> all;
        array_texts lists(1);
        for (const std::string& each : queues) lists.add({each});
        for (const row& each : read(on, "look", lists.values()).rows) {
            all.push_back(look_in(each, columns::job_queue::look::queue_look));
        }
        return all;
    }

    void require_all_rows(connection& on) override {
        const result hidden = read(on, "hidden_table");
        if (hidden.rows.empty()) return;
        using column = columns::job_queue::hidden_table;
        const row& first = hidden.rows[0];
        throw error{
            errc::permission_denied,
            "row level security is on for " + first.text(column::table) +
                " and may hide rows from user " + first.text(column::user) +
                ", so that a worker passes jobs over without an error: " +
                first.text(column::remedy)};
    }

    std::int64_t promote(connection& on, std::string_view queue, int max_jobs) override {
        return write(on, "promote", {std::string{queue}, max_jobs}).affected_rows;
    }

    rescue_result rescue(
        connection& on, std::string_view queue, int max_jobs, const job_retention& kept
    ) override {
        const parameters values{
            std::string{queue}, max_jobs, kept_for(kept.discarded), kept_for(kept.cancelled)};
        using column = columns::job_queue::rescue;
        const row found = write(on, "rescue", values).rows.at(0);
        return {found.integer(column::rescued), found.integer(column::quarantined)};
    }

    std::int64_t unblock(connection& on, std::string_view queue, int max_keys, blocked_place& place)
        override {
        const row last = write(on, "unblock", {std::string{queue}, max_keys, place.key}).rows.at(0);
        place.key = text_or_empty(last, columns::job_queue::unblock::key);
        return last.integer(columns::job_queue::unblock::freed);
    }

    cancel_outcome cancel(connection& on, job_id id, std::chrono::microseconds kept) override {
        using column = columns::job_queue::cancel_on_postgres;
        // If the job was claimed or ended meanwhile nothing has changed: look again.
        constexpr int max_looks = 10;
        for (int look = 0; look < max_looks; ++look) {
            const row found = write(on, "cancel", {id, kept_for(kept)}).rows.at(0);
            if (found.integer(column::cancelled) > 0) return cancel_outcome::cancelled;
            if (found.integer(column::requested) > 0) return cancel_outcome::requested;
            if (found.integer(column::in_history) > 0) return cancel_outcome::ended;
            if (found.integer(column::in_jobs) == 0) return cancel_outcome::not_found;
        }
        give_up_on(id, "cancel");
    }
};

}  // namespace

std::unique_ptr<job_queue_store> make_job_queue_store(shared_dialect how) {
    return std::make_unique<postgres_job_queue_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
