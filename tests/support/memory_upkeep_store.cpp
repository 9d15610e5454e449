// The model's clean-up.
#include <algorithm>
#include <utility>

#include "database/schema_store.hpp"
#include "session/sql_upkeep_place.hpp"
#include "session/upkeep_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;

// A row of a table, as a look sees it.
struct seen_row {
    std::string place;
    bool is_found = false;
    bool is_queued = false;
    std::optional<instant> end;  // of its session
};

std::optional<instant> end_of(const memory_tables& tables, const session_id& id) {
    const auto found = tables.sessions.find(id);
    if (found == tables.sessions.end()) return std::nullopt;
    return found->second.expires_at;
}

// Proved dead, or gone.
bool is_over(const memory_tables& tables, const session_id& id) {
    const auto end = end_of(tables, id);
    return !end || *end <= tables.now;
}

bool is_dead_hold(const memory_tables& tables, const lock_row& row) {
    const bool session_is_gone = row.session && !tables.sessions.contains(*row.session);
    return row.owner && (is_takeable(tables, row) || session_is_gone);
}

bool is_idle(
    const memory_tables& tables, const std::string& name, const lock_row& row, microseconds for_long
) {
    return !row.owner && row.last_ticket == 0 && !has_holders(tables, name) &&
           row.changed_at + for_long <= tables.now;
}

bool is_old(const memory_tables& tables, const session_row& row, microseconds retention) {
    instant cleaned_to = tables.now;
    for (const auto task :
         {upkeep_task::dead_locks, upkeep_task::dead_holders, upkeep_task::dead_waiters}) {
        cleaned_to = std::min(cleaned_to, tables.upkeep.at(task).swept_to);
    }
    return row.expires_at + retention <= cleaned_to;
}

std::string place_of(const std::pair<std::string, std::string>& key_and_owner) {
    return key_and_owner.first + key_and_owner.second;
}
std::string place_of(const std::pair<std::string, std::int64_t>& key_and_ticket) {
    return key_and_ticket.first + ticket_bytes(key_and_ticket.second);
}

std::pair<std::string, std::string> holder_at(const std::string& place) {
    return split_place(upkeep_task::dead_holders, place);
}
std::pair<std::string, std::int64_t> waiter_at(const std::string& place) {
    auto [name, ticket] = split_place(upkeep_task::dead_waiters, place);
    return {std::move(name), ticket_of(ticket)};
}

// The rows behind the place in the order of the table, as many as are wanted.
template <class Table, class Key, class Describe>
std::vector<seen_row> walk(const Table& table, const Key& behind, int rows, Describe describe) {
    std::vector<seen_row> seen;
    for (auto at = table.upper_bound(behind); at != table.end(); ++at) {
        if (static_cast<int>(seen.size()) == rows) break;
        seen.push_back(describe(at->first, at->second));
    }
    return seen;
}

std::vector<seen_row> rows_behind(
    const memory_tables& tables,
    upkeep_task task,
    const std::string& place,
    int rows,
    microseconds retention
) {
    switch (task) {
        case upkeep_task::dead_locks:
            return walk(tables.locks, place, rows, [&](const auto& name, const auto& row) {
                const bool is_mutex = row.kind == static_cast<int>(lock_kind::mutex);
                const bool is_queued = row.last_ticket != 0 && is_mutex;
                const bool is_found = row.owner ? is_dead_hold(tables, row) : is_queued;
                const auto end = row.session ? end_of(tables, *row.session) : std::nullopt;
                return seen_row{name, is_found, is_queued, end};
            });
        case upkeep_task::dead_holders:
            return walk(
                tables.holders,
                holder_at(place),
                rows,
                [&](const auto& key, const auto& row) {
                    const bool is_found = is_over(tables, row.session);
                    return seen_row{place_of(key), is_found, false, end_of(tables, row.session)};
                }
            );
        case upkeep_task::dead_waiters:
            return walk(
                tables.waiters,
                waiter_at(place),
                rows,
                [&](const auto& key, const auto& row) {
                    const bool is_found = is_over(tables, row.session);
                    return seen_row{place_of(key), is_found, false, end_of(tables, row.session)};
                }
            );
        case upkeep_task::old_sessions: {
            std::vector<seen_row> seen;
            for (const auto& [id, row] : tables.sessions) {
                if (id.bytes() <= place) continue;
                seen.push_back({id.bytes(), is_old(tables, row, retention), false, {}});
            }
            std::ranges::sort(seen, {}, &seen_row::place);  // the map goes by signed characters
            if (static_cast<int>(seen.size()) > rows) seen.resize(static_cast<std::size_t>(rows));
            return seen;
        }
        case upkeep_task::idle_locks:
            break;
    }
    return walk(tables.locks, place, rows, [&](const auto& name, const auto& row) {
        return seen_row{name, is_idle(tables, name, row, retention), false, {}};
    });
}

// True when there was something to clear, and it was possible.
bool clear_one(
    memory_tables& tables,
    const connection& from,
    upkeep_task task,
    const std::string& place,
    microseconds retention
) {
    const auto remove_dead = [&](auto& table, const auto& key) {
        const auto found = table.find(key);
        if (found == table.end() || !is_over(tables, found->second.session)) return false;
        if constexpr (requires { found->second.provers; }) {
            const auto& provers = found->second.provers;
            if (provers.size() > provers.count(&from)) return false;
        }
        table.erase(found);
        return true;
    };
    if (task == upkeep_task::dead_holders) return remove_dead(tables.holders, holder_at(place));
    if (task == upkeep_task::dead_waiters) return remove_dead(tables.waiters, waiter_at(place));
    if (task == upkeep_task::old_sessions) {
        const auto found = tables.sessions.find(identity::from_bytes(place));
        const bool is_there = found != tables.sessions.end();
        if (!is_there || found->second.expires_at + retention > tables.now) return false;
        tables.sessions.erase(found);
        return true;
    }
    const auto found = tables.locks.find(place);
    if (found == tables.locks.end()) return false;
    lock_row& row = found->second;
    if (task == upkeep_task::dead_locks) {
        if (!is_dead_hold(tables, row) || is_proved_by_another(row, from)) return false;
        make_free(tables, row);
        return true;
    }
    if (!is_idle(tables, place, row, retention)) return false;
    tables.fence_mark = std::max(tables.fence_mark, row.fence);
    tables.locks.erase(found);
    return true;
}

class memory_upkeep_store final : public upkeep_store {
public:
    explicit memory_upkeep_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    std::vector<upkeep_progress> progress(connection& on) override {
        using all = std::vector<upkeep_progress>;
        return server_->ask<all>(on, "progress", [](memory_tables& tables, const connection&) {
            all found;
            for (const auto& [task, row] : tables.upkeep) {
                const auto since_turn = tables.now - row.turned_at;
                found.push_back({task, row.turn, since_turn, row.unfinished, row.place, row.passes}
                );
            }
            return std::optional{found};
        });
    }

    bool begin_turn(connection& on, const upkeep_progress& seen, microseconds every) override {
        const auto attempt = [seen, every](memory_tables& tables, const connection&) {
            upkeep_row& row = tables.upkeep.at(seen.task);
            const bool is_due = row.turned_at + every <= tables.now || row.turned_at > tables.now;
            if (row.turn != seen.turn || !is_due) return std::optional{false};
            ++row.turn;
            row.turned_at = tables.now;
            ++row.unfinished;
            if (row.place.empty()) row.sweeps_to = tables.now;
            ++tables.writes;
            return std::optional{true};
        };
        return server_->ask<bool>(on, "begin_turn", attempt);
    }

    bool advance(connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves)
        override {
        instant oldest = look.oldest_passed_over.value_or(instant::max());
        if (leaves) oldest = std::min(oldest, look.oldest.value_or(oldest));
        const auto attempt =
            [from, place = look.place, oldest](memory_tables& tables, const connection&) {
                upkeep_row& row = tables.upkeep.at(from.task);
                if (row.turn != from.turn) return std::optional{false};
                row.unfinished = std::max<std::int64_t>(row.unfinished - 1, 0);
                row.place = place;
                row.sweeps_to = std::min(row.sweeps_to, oldest);
                if (place.empty()) {
                    ++row.passes;
                    row.swept_to = std::exchange(row.sweeps_to, tables.now);
                }
                ++tables.writes;
                return std::optional{true};
            };
        return server_->ask<bool>(on, "advance", attempt);
    }

    upkeep_look look(
        connection& on, upkeep_task task, const std::string& place, int rows, microseconds retention
    ) override {
        const auto attempt = [=](memory_tables& tables, const connection&) {
            upkeep_look answer;
            const auto seen = rows_behind(tables, task, place, rows, retention);
            if (static_cast<int>(seen.size()) == rows) answer.place = seen.back().place;
            for (const seen_row& each : seen) {
                if (each.end) {
                    auto& oldest = each.is_found ? answer.oldest : answer.oldest_passed_over;
                    oldest = std::min(oldest.value_or(*each.end), *each.end);
                }
                if (each.is_found) answer.found.push_back({each.place, each.is_queued});
            }
            return std::optional{answer};
        };
        return server_->ask<upkeep_look>(on, "look_for_the_dead", attempt);
    }

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        microseconds retention
    ) override {
        const auto attempt = [=](memory_tables& tables, const connection& from) {
            std::int64_t cleared = 0;
            for (const std::string& each : places) {
                if (clear_one(tables, from, task, each, retention)) ++cleared;
            }
            tables.writes += cleared;
            return std::optional{cleared};
        };
        return server_->ask<std::int64_t>(on, "clear_the_dead", attempt);
    }

    // The model has no history.
    std::int64_t prune_history(connection&, int) override { return 0; }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_memory_upkeep_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_upkeep_store>(std::move(of));
}

}  // namespace leasehold::testing
