// The model's jobs that wait for others.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "jobs/job_need_store.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

bool sees(const need_row& row, const connection& from) {
    return !row.writer || row.writer == &from;
}

class memory_job_need_store final : public job_need_store {
public:
    explicit memory_job_need_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    void add(connection& inside, const std::vector<job_need>& what) override {
        ask<bool>(inside, "add_needs", [what](seen& all) {
            for (const job_need& each : what) {
                all.tables.needs[{each.needs, each.job}] = {each.until, &all.from};
            }
            return true;
        });
    }

    std::vector<job_need_over> over(connection& on, const std::vector<job_id>& ids) override {
        return ask<found>(on, "needs_over", [ids](seen& all) {
            found some;
            for (const auto& [name, row] : all.tables.needs) {
                if (!sees(row, all.from) || std::ranges::count(ids, name.first) == 0) continue;
                if (const auto became = all.end_of(name.first)) {
                    some.push_back({{name.second, name.first, row.until}, *became});
                }
            }
            return some;
        });
    }

    std::vector<job_need_over> over_behind(connection& on, need_place& place) override {
        const auto before = std::pair{place.needs, place.job};
        using answer = std::pair<found, std::pair<job_id, job_id>>;
        const auto [over, last] = ask<answer>(on, "needs_behind", [before](seen& all) {
            answer some;
            std::size_t looked = 0;
            for (const auto& [name, row] : all.tables.needs) {
                if (!sees(row, all.from) || name <= before) continue;
                if (++looked > max_passed) return some;
                some.second = name;
                if (const auto became = all.end_of(name.first)) {
                    some.first.push_back({{name.second, name.first, row.until}, *became});
                }
            }
            if (looked < max_passed) some.second = {};
            return some;
        });
        place = {last.first, last.second};
        return over;
    }

    void forget(connection& on, const std::vector<job_need_over>& over) override {
        ask<bool>(on, "forget_needs", [over](seen& all) {
            for (const auto& [what, became] : over) {
                all.tables.needs.erase({what.needs, what.job});
                ++all.tables.writes;
            }
            return true;
        });
    }

    std::int64_t free(connection& on, const std::vector<job_id>& ids) override {
        using answer = std::optional<std::int64_t>;
        return ask<std::int64_t>(on, "free_waiting", [ids](seen& all) -> answer {
            std::int64_t freed = 0;
            for (const job_id id : ids) {
                const job_row* const row = all.jobs.find(id);
                if (!row || !is_waiting(*row) || all.has_needs(id)) continue;
                if (all.jobs.is_locked(id)) continue;
                job_row next = *row;
                next.due_at.reset();
                next.state = job_state::available;
                next.available_at = all.jobs.now();
                all.jobs.put(id, std::move(next));
                ++freed;
            }
            return freed;
        });
    }

    std::vector<std::string> queues_of(connection& on, const std::vector<job_id>& ids) override {
        return ask<std::vector<std::string>>(on, "queues_of", [ids](seen& all) {
            std::set<std::string> names;
            for (const job_id id : ids) {
                const job_row* const row = all.jobs.find(id);
                if (row && row->state == job_state::available) names.insert(row->queue);
            }
            return std::vector<std::string>(names.begin(), names.end());
        });
    }

    std::vector<job_id> left_waiting(connection& on, std::string_view queue, job_id& place)
        override {
        using answer = std::vector<job_id>;
        place = 0;  // all of them fit
        return ask<answer>(on, "left_waiting", [queue = std::string(queue)](seen& all) {
            return all.jobs.where([&](job_id id, const job_row& row) {
                return row.queue == queue && is_waiting(row) && !all.has_needs(id);
            });
        });
    }

    note_outcome note_reason(connection& on, job_id id, const std::string& words) override {
        return ask<note_outcome>(on, "note_reason", [id, words](seen& all) {
            const job_row* const row = all.jobs.find(id);
            if (!row || !is_waiting(*row)) return note_outcome::gone;
            if (all.jobs.is_locked(id)) return note_outcome::locked;
            job_row next = *row;
            next.error = words;
            all.jobs.put(id, std::move(next));
            return note_outcome::noted;
        });
    }

    std::vector<job_id> needs_of(connection& on, job_id id, int limit) override {
        return ask<std::vector<job_id>>(on, "needs_of", [id, limit](seen& all) {
            std::vector<job_id> some;
            for (const auto& [name, row] : all.tables.needs) {
                const bool is_its = sees(row, all.from) && name.second == id;
                if (is_its && std::ssize(some) < limit) some.push_back(name.first);
            }
            return some;
        });
    }

    std::vector<job_id> needed_by(connection& on, job_id id, int limit) override {
        return ask<std::vector<job_id>>(on, "needed_by", [id, limit](seen& all) {
            std::vector<job_id> some;
            for (const auto& [name, row] : all.tables.needs) {
                const bool is_its = sees(row, all.from) && name.first == id;
                const job_row* const waiting = is_its ? all.jobs.find(name.second) : nullptr;
                if (!waiting || !is_waiting(*waiting)) continue;
                if (std::ssize(some) < limit) some.push_back(name.second);
            }
            return some;
        });
    }

    bool is_needed(connection& on, job_id id) override {
        return ask<bool>(on, "is_needed", [id](seen& all) {
            return std::ranges::any_of(all.tables.needs, [&](const auto& each) {
                return each.first.first == id && sees(each.second, all.from);
            });
        });
    }

private:
    using found = std::vector<job_need_over>;

    struct seen {
        memory_tables& tables;
        const connection& from;
        seen_jobs jobs;

        // The state in which a job ended; nothing where it has not ended.
        std::optional<job_state> end_of(job_id id) const {
            const job_row* const row = jobs.find(id);
            if (!row) return job_state::completed;
            return row->has_ended() ? std::optional{row->state} : std::nullopt;
        }
        bool has_needs(job_id id) const {
            return std::ranges::any_of(tables.needs, [&](const auto& each) {
                return each.first.second == id && sees(each.second, from);
            });
        }
    };

    static bool is_waiting(const job_row& row) { return row.due_at && is_never(*row.due_at); }

    template <class Answer, class Use>
    Answer ask(connection& on, std::string_view name, Use use) const {
        const bool is_inside = on.state() == connection_state::in_transaction;
        return server_->ask<Answer>(
            on,
            name,
            [use, is_inside](memory_tables& tables, const connection& from) {
                seen all{tables, from, seen_jobs{tables, from, is_inside}};
                return std::optional<Answer>{use(all)};
            }
        );
    }

    const std::shared_ptr<memory_server> server_;
};

}  // namespace

void end_needs_of(memory_tables& tables, const connection& whose, bool commit) {
    std::erase_if(tables.needs, [&](const auto& each) {
        return each.second.writer == &whose && !commit;
    });
    for (auto& [name, row] : tables.needs) {
        if (row.writer == &whose) row.writer = nullptr;
    }
}

std::unique_ptr<job_need_store> make_memory_job_need_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_job_need_store>(std::move(of));
}

}  // namespace leasehold::testing
