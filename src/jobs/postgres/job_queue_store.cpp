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
            all.push_back(look_in(each, 1));
        }
        return all;
    }

    void require_all_rows(connection& on) override {
        const result hidden = read(on, "hidden_table");
        if (hidden.rows.empty()) return;
        const row& first = hidden.rows[0];
        throw error{
            errc::permission_denied,
            "row level security is on for " + first.text(0) + " and may hide rows from user " +
                first.text(1) +
                ", so that a worker passes jobs over without an error: " + first.text(2)};
    }

    std::int64_t promote(connection& on, std::string_view queue, int max_jobs) override {
        return write(on, "promote", {std::string{queue}, max_jobs}).affected_rows;
    }

    rescue_result rescue(
        connection& on, std::string_view queue, int max_jobs, const job_retention& kept
    ) override {
        const parameters values{
            std::string{queue}, max_jobs, kept_for(kept.discarded), kept_for(kept.cancelled)};
        const result found = write(on, "rescue", values);
        return {found.rows.at(0).integer(0), found.rows.at(0).integer(1)};
    }

    std::int64_t unblock(connection& on, std::string_view queue, int max_keys, blocked_place& place)
        override {
        const row last = write(on, "unblock", {std::string{queue}, max_keys, place.key}).rows.at(0);
        place.key = last.is_null(0) ? "" : last.bytes(0);
        return last.integer(1);
    }

    cancel_outcome cancel(connection& on, job_id id, std::chrono::microseconds kept) override {
        // If the job was claimed or ended meanwhile nothing has changed: look again.
        constexpr int max_looks = 10;
        for (int look = 0; look < max_looks; ++look) {
            const row found = write(on, "cancel", {id, kept_for(kept)}).rows.at(0);
            if (found.integer(0) > 0) return cancel_outcome::cancelled;
            if (found.integer(1) > 0) return cancel_outcome::requested;
            if (found.integer(2) > 0) return cancel_outcome::ended;
            if (found.integer(3) == 0) return cancel_outcome::not_found;
        }
        throw error(
            errc::transient, "job " + std::to_string(id) + " changes all the time; cancel it again"
        );
    }
};

}  // namespace

std::unique_ptr<job_queue_store> make_job_queue_store(shared_dialect how) {
    return std::make_unique<postgres_job_queue_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
