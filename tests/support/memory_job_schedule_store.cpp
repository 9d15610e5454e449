// The model's schedules of jobs.
#include <algorithm>
#include <utility>

#include "jobs/job_schedule_store.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

schedule::instant wall_of(const memory_tables& tables) {
    return schedule::instant{tables.now};
}

// A connection sees its own writes, or the committed row.
const job_schedule_row* seen_by(const schedule_versions& row, const connection& from) {
    const auto& version = row.writer == &from ? row.written : row.committed;
    return version ? &*version : nullptr;
}

class memory_job_schedule_store final : public job_schedule_store {
public:
    explicit memory_job_schedule_store(std::shared_ptr<memory_server> of)
        : server_(std::move(of)) {}

    job_schedule_look due(connection& on, std::string_view queue, const job_schedule_place& behind)
        override {
        const auto is_due = [queue = std::string(queue),
                             behind](const memory_tables& tables, const job_schedule_row& row) {
            return row.what.queue == queue && !row.is_paused && row.next <= wall_of(tables) &&
                   std::pair{row.next, row.what.name} > std::pair{behind.next, behind.name};
        };
        auto seen = look(on, "due", is_due);
        std::ranges::stable_sort(seen.rows, {}, &job_schedule_row::next);
        seen.rows.resize(std::min(seen.rows.size(), std::size_t{max_rows}));
        return seen;
    }

    std::optional<std::chrono::microseconds> next_in(
        connection& on, std::string_view queue, schedule::instant behind
    ) override {
        const auto comes = [queue = std::string(queue),
                            behind](const memory_tables&, const job_schedule_row& row) {
            return row.what.queue == queue && !row.is_paused && row.next > behind;
        };
        const auto seen = look(on, "next_in", comes);
        const auto first = std::ranges::min_element(seen.rows, {}, &job_schedule_row::next);
        if (first == seen.rows.end()) return std::nullopt;
        return first->next - seen.now;
    }

    bool advance(connection& inside, const job_schedule_row& to) override {
        const auto attempt = [to](memory_tables& tables, const connection& from) {
            using answer = std::optional<bool>;
            const auto found = tables.schedules.find(to.what.name);
            if (found == tables.schedules.end()) return answer{false};
            schedule_versions& row = found->second;
            if (row.writer && row.writer != &from) return answer{false};
            const job_schedule_row* const now = seen_by(row, from);
            if (!now || now->version != to.version) return answer{false};
            job_schedule_row next = *now;
            next.next = to.next;
            if (to.last) next.last = to.last;
            ++next.version;
            row.written = std::move(next);
            row.writer = &from;
            return answer{true};
        };
        return server_->ask<bool>(inside, "advance", attempt);
    }

    void note_job(connection& inside, std::string_view name, job_id id) override {
        const auto attempt = [name = std::string(name),
                              id](memory_tables& tables, const connection&) {
            tables.schedules.at(name).written.value().last_job = id;
            return std::optional{true};
        };
        server_->ask<bool>(inside, "note_job", attempt);
    }

    job_schedule_look find(connection& on, std::string_view name) override {
        return look(
            on,
            "find_schedule",
            [name = std::string(name)](const memory_tables&, const job_schedule_row& row) {
                return row.what.name == name;
            }
        );
    }

    job_schedule_look list(connection& on, std::string_view after) override {
        auto seen = look(
            on,
            "list_schedules",
            [after = std::string(after)](const memory_tables&, const job_schedule_row& row) {
                return row.what.name > after;
            }
        );
        seen.rows.resize(std::min(seen.rows.size(), std::size_t{max_rows}));
        return seen;
    }

    bool put(connection& on, const job_schedule_row& given) override {
        const auto attempt = [given](memory_tables& tables, const connection&) {
            using answer = std::optional<bool>;
            schedule_versions& row = tables.schedules[given.what.name];
            if (row.writer) return answer{};
            const bool is_ours = row.committed && row.committed->version == given.version;
            if (given.version == 0 ? row.committed.has_value() : !is_ours) return answer{false};
            job_schedule_row next = given;
            if (row.committed) {
                next.last = row.committed->last;
                next.last_job = row.committed->last_job;
            }
            next.version = std::max(given.version + 1, std::int64_t{tables.now.count()});
            row.committed = std::move(next);
            ++tables.writes;
            return answer{true};
        };
        return server_->ask<bool>(on, "put_schedule", attempt);
    }

    bool remove(connection& on, std::string_view name) override {
        const auto attempt = [name = std::string(name)](memory_tables& tables, const connection&) {
            using answer = std::optional<bool>;
            const auto found = tables.schedules.find(name);
            if (found == tables.schedules.end() || !found->second.committed) return answer{false};
            if (found->second.writer) return answer{};
            tables.schedules.erase(found);
            ++tables.writes;
            return answer{true};
        };
        return server_->ask<bool>(on, "remove_schedule", attempt);
    }

private:
    template <class Is>
    job_schedule_look look(connection& on, std::string_view name, Is is_wanted) const {
        const auto attempt = [is_wanted](memory_tables& tables, const connection& from) {
            job_schedule_look seen{wall_of(tables), {}};
            for (const auto& [key, versions] : tables.schedules) {
                const job_schedule_row* const row = seen_by(versions, from);
                if (row && is_wanted(tables, *row)) seen.rows.push_back(*row);
            }
            return std::optional{seen};
        };
        return server_->ask<job_schedule_look>(on, name, attempt);
    }

    const std::shared_ptr<memory_server> server_;
};

}  // namespace

void end_schedules_of(memory_tables& tables, const connection& whose, bool commit) {
    for (auto& [name, row] : tables.schedules) {
        if (row.writer != &whose) continue;
        if (commit) {
            row.committed = std::move(row.written);
            ++tables.writes;
        }
        row.written.reset();
        row.writer = nullptr;
    }
}

std::unique_ptr<job_schedule_store> make_memory_job_schedule_store(std::shared_ptr<memory_server> of
) {
    return std::make_unique<memory_job_schedule_store>(std::move(of));
}

}  // namespace leasehold::testing
