#include "support/memory_store.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "admin/migration_store.hpp"
#include "core/handle_maker.hpp"
#include "database/database.hpp"
#include "database/schema_store.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_store.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "leasehold/error.hpp"
#include "locks/fence_store.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "locks/waiter_store.hpp"
#include "runs/run_store.hpp"
#include "session/session_store.hpp"
#include "session/upkeep_store.hpp"
#include "support/memory_rows.hpp"

namespace leasehold::testing {

using std::chrono::microseconds;

bool is_live_session(const memory_tables& tables, const session_id& id) {
    const auto found = tables.sessions.find(id);
    return found != tables.sessions.end() && found->second.expires_at > tables.now;
}

bool is_dead_session(const memory_tables& tables, const session_id& id) {
    const auto found = tables.sessions.find(id);
    return found != tables.sessions.end() && found->second.expires_at <= tables.now;
}

bool is_live_hold(const memory_tables& tables, const lock_row& row) {
    if (!row.owner) return false;
    if (row.expires_at && *row.expires_at <= tables.now) return false;
    return !row.session || !is_dead_session(tables, *row.session);
}

bool is_takeable(const memory_tables& tables, const lock_row& row) {
    if (!row.owner) return true;
    if (row.expires_at) return *row.expires_at + row.lock_delay <= tables.now;
    const auto found = tables.sessions.find(*row.session);
    return found != tables.sessions.end() &&
           found->second.expires_at + row.lock_delay <= tables.now;
}

bool is_proved_by_another(const lock_row& row, const connection& than) {
    return std::any_of(row.provers.begin(), row.provers.end(), [&](const connection* each) {
        return each != &than;
    });
}

lock_row* find_row(memory_tables& tables, const key& name) {
    const auto found = tables.locks.find(name.name());
    return found == tables.locks.end() ? nullptr : &found->second;
}

lock_row* find_hold(memory_tables& tables, const hold& held) {
    lock_row* const row = find_row(tables, held.key);
    return row && row->owner == held.owner && row->fence == held.token.number ? row : nullptr;
}

bool has_holders(const memory_tables& tables, const std::string& name) {
    const auto first = tables.holders.lower_bound({name, ""});
    return first != tables.holders.end() && first->first.first == name;
}

void make_free(memory_tables& tables, lock_row& row) {
    row.owner.reset();
    row.session.reset();
    row.expires_at.reset();
    row.reentrant_count = 0;
    row.changed_at = tables.now;
    ++tables.writes;
}

void make_held(memory_tables& tables, lock_row& row, const acquire_request& wanted) {
    row.session.reset();
    row.expires_at.reset();
    give(tables, row, wanted);
    row.changed_at = tables.now;
    ++tables.writes;
}

lock_counts count_of(const memory_tables& tables, const std::string& prefix) {
    lock_counts counted;
    for (const auto& [name, row] : tables.locks) {
        if (name.starts_with(prefix) && is_live_hold(tables, row)) ++counted.keys;
    }
    counted.holders = counted.keys;
    for (const auto& [place, row] : tables.waiters) {
        const bool is_meant = place.first.starts_with(prefix);
        if (is_meant && is_live_session(tables, row.session)) ++counted.waiters;
    }
    std::set<std::string> shared;
    for (const auto& [place, row] : tables.holders) {
        if (!place.first.starts_with(prefix) || is_dead_session(tables, row.session)) continue;
        if ((row.bits & holder_bits::waiting) != 0) ++counted.waiters;
        if (row.fence == 0) continue;
        ++counted.holders;
        shared.insert(place.first);
    }
    counted.keys += static_cast<std::int64_t>(shared.size());
    return counted;
}

lock_info info_of(const memory_tables& tables, const std::string& name, const lock_row& row) {
    lock_info info;
    info.key = name;
    info.token = {row.fence};
    info.node_info = row.node_info;
    info.is_held = is_live_hold(tables, row);
    const auto first = tables.waiters.lower_bound({name, 0});
    info.waiters = std::count_if(first, tables.waiters.end(), [&](const auto& each) {
        return each.first.first == name && is_live_session(tables, each.second.session);
    });
    if (!info.is_held) return info;
    info.metadata = row.metadata.value_or("");
    info.owner = row.owner;
    info.session = row.session;
    info.reentrant_count = row.reentrant_count;
    info.held_for = tables.now - row.changed_at;
    if (row.expires_at) {
        info.remaining = *row.expires_at - tables.now;
    } else if (const auto session = tables.sessions.find(*row.session);
               session != tables.sessions.end()) {
        info.remaining = session->second.expires_at - tables.now;
    }
    return info;
}

namespace {

// ------------------------------------------------------------------------------------ sessions

// One of the rows that session_store::end() looks for.
bool names(const memory_tables& tables, const waiter_id& what, const session_id& id) {
    const std::string& name = what.key.name();
    const auto lock = tables.locks.find(name);
    const auto holder = tables.holders.find({name, std::string{what.owner.bytes()}});
    const auto waiter = tables.waiters.find({name, what.ticket});
    return (lock != tables.locks.end() && lock->second.session == id) ||
           (holder != tables.holders.end() && holder->second.session == id) ||
           (waiter != tables.waiters.end() && waiter->second.session == id);
}

class memory_session_store final : public session_store {
public:
    explicit memory_session_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    server_environment environment(connection&) override { return {}; }

    bool start(connection& on, const session_start& session) override {
        const auto attempt = [session](memory_tables& tables, const connection&) {
            // A dead session stays dead.
            if (is_dead_session(tables, session.id)) return std::optional{false};
            const bool is_new = !tables.sessions.contains(session.id);
            session_row& row = tables.sessions[session.id];
            if (is_new) {
                row.node_info = session.node_info;
                row.started_at = tables.now;
            }
            row.heartbeat_at = tables.now;
            row.expires_at = tables.now + session.ttl;
            ++tables.writes;
            return std::optional{true};
        };
        return server_->ask<bool>(on, "start", attempt);
    }

    bool take_over(connection& on, const session_start& to, const std::string& expected) override {
        const auto attempt = [to, expected](memory_tables& tables, const connection&) {
            const auto found = tables.sessions.find(to.id);
            const bool is_there = is_live_session(tables, to.id) && found != tables.sessions.end();
            if (!is_there || found->second.node_info != expected) return std::optional{false};
            session_row& row = found->second;
            row.node_info = to.node_info;
            ++row.notices;
            row.heartbeat_at = tables.now;
            row.expires_at = tables.now + to.ttl;
            ++tables.writes;
            return std::optional{true};
        };
        return server_->ask<bool>(on, "take_over", attempt);
    }

    std::optional<fencing_token> start_with_grant(
        connection& on, const session_start& session, const acquire_request& wanted
    ) override {
        using answer = std::optional<fencing_token>;
        const auto attempt = [session, wanted](memory_tables& tables, const connection& from) {
            lock_row* row = find_row(tables, wanted.key);
            const bool is_mutex = !row || row->kind == static_cast<int>(lock_kind::mutex);
            if (!is_mutex || (row && !is_takeable(tables, *row))) return std::optional{answer{}};
            if (row && is_proved_by_another(*row, from)) return std::optional{answer{}};
            if (tables.sessions.contains(session.id)) {
                throw error(errc::constraint, "there is a session of this id");
            }
            if (!row) {
                row = &tables.locks[wanted.key.name()];
                row->fence = tables.fence_mark;
            }
            session_row& begun = tables.sessions[session.id];
            begun.node_info = session.node_info;
            begun.started_at = begun.heartbeat_at = tables.now;
            begun.expires_at = tables.now + session.ttl;
            make_held(tables, *row, wanted);
            return std::optional{answer{{row->fence}}};
        };
        return server_->ask<answer>(on, "start_with_grant", attempt);
    }

    bool end_with_release(connection& on, const session_id& id, const hold& last) override {
        const auto attempt =
            [id, last](memory_tables& tables, const connection& from) -> std::optional<bool> {
            lock_row* const row = find_hold(tables, last);
            if (!row || row->last_ticket != 0 || row->reentrant_count != 1) return false;
            if (is_proved_by_another(*row, from)) return std::nullopt;
            make_free(tables, *row);
            if (is_live_session(tables, id)) tables.sessions.erase(id);
            return true;
        };
        return server_->ask<bool>(on, "end_with_release", attempt);
    }

    // Looks at no lock row, and so waits for no proof.
    heartbeat_result heartbeat(
        connection& on, const session_id& id, microseconds ttl, const session_news& known
    ) override {
        const auto attempt = [id, ttl, known](memory_tables& tables, const connection&) {
            using answer = std::optional<heartbeat_result>;
            if (!is_live_session(tables, id)) return answer{{heartbeat_status::ended}};
            session_row& row = tables.sessions.at(id);
            const std::string incarnation = std::to_string(tables.incarnation);
            const bool is_other = !known.incarnation.empty() && known.incarnation != incarnation;
            if (is_other || row.notices != known.notices) {
                return answer{{heartbeat_status::noticed, {row.notices, incarnation}}};
            }
            row.heartbeat_at = tables.now;
            row.expires_at = tables.now + ttl;
            ++tables.writes;
            return answer{{heartbeat_status::renewed}};
        };
        return server_->ask<heartbeat_result>(on, "heartbeat", attempt);
    }

    void end(
        connection& on,
        const session_id& id,
        const std::optional<std::vector<waiter_id>>& remove_unless
    ) override {
        const auto attempt = [id, remove_unless](memory_tables& tables, const connection&) {
            if (!is_live_session(tables, id)) return std::optional{true};
            const auto refers = [&](const waiter_id& each) { return names(tables, each, id); };
            if (remove_unless &&
                std::none_of(remove_unless->begin(), remove_unless->end(), refers)) {
                tables.sessions.erase(id);
            } else {
                tables.sessions.at(id).expires_at = tables.now;
            }
            ++tables.writes;
            return std::optional{true};
        };
        server_->ask<bool>(on, "end", attempt);
    }

    std::vector<session_info> list(connection& on) override {
        const auto attempt = [](memory_tables& tables, const connection&) {
            std::vector<session_info> found;
            for (const auto& [id, row] : tables.sessions) {
                session_info info;
                info.id = id;
                info.node_info = row.node_info;
                info.started_ago = tables.now - row.started_at;
                info.heartbeat_ago = tables.now - row.heartbeat_at;
                info.remaining = row.expires_at - tables.now;
                info.is_live = is_live_session(tables, id);
                found.push_back(info);
            }
            // Oldest first; of the same age by id, as the map has them.
            std::stable_sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
                return left.started_ago > right.started_ago;
            });
            return std::optional{found};
        };
        return server_->ask<std::vector<session_info>>(on, "list_sessions", attempt);
    }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<store_set> make_memory_stores(const std::shared_ptr<memory_server>& of) {
    auto made = std::make_unique<store_set>();
    made->put<hold_store>(make_memory_hold_store(of));
    made->put<session_store>(std::make_unique<memory_session_store>(of));
    made->put<schema_store>(make_memory_migration_store(of));
    made->put<migration_store>(make_memory_migration_store(of));
    made->put<upkeep_store>(make_memory_upkeep_store(of));
    made->put<fence_store>(make_memory_fence_store(of));
    made->put<run_store>(make_memory_run_store(of));
    made->put<waiter_store>(make_memory_waiter_store(of));
    made->put<holder_store>(make_memory_holder_store(of));
    made->put<multi_lock_store>(make_memory_multi_lock_store(of));
    made->put<job_store>(make_memory_job_store(of));
    made->put<job_queue_store>(make_memory_job_queue_store(of));
    made->put<job_schedule_store>(make_memory_job_schedule_store(of));
    made->put<job_subscriber_store>(make_memory_job_subscriber_store(of));
    made->put<job_need_store>(make_memory_job_need_store(of));
    return made;
}

// ------------------------------------------------------------------------------ memory_database

database memory_database::open(database_settings settings, const wrapper& wrap) const {
    connector connect = [server = server_](std::chrono::milliseconds) { return server->connect(); };
    if (wrap) connect = wrap(std::move(connect));
    return handle_maker::share<database>(std::move(connect), stores(), std::move(settings));
}

void memory_database::age_session(const session_id& id, microseconds by) {
    server_->with_tables([&](memory_tables& tables) {
        session_row& row = tables.sessions.at(id);
        row.started_at -= by;
        row.heartbeat_at -= by;
        row.expires_at -= by;
    });
}

void memory_database::age_lock(const key& name, microseconds by) {
    server_->with_tables([&](memory_tables& tables) {
        lock_row& row = tables.locks.at(name.name());
        row.changed_at -= by;
        if (row.expires_at) *row.expires_at -= by;
    });
}

void memory_database::age_run(const key& name, microseconds by) {
    server_->with_tables([&](memory_tables& tables) {
        run_row& row = tables.runs.at(name.name());
        row.started_at -= by;
        row.opens_at -= by;
        if (row.finished_at) *row.finished_at -= by;
    });
}

void memory_database::age_job(job_id id, microseconds by) {
    server_->with_tables([&](memory_tables& tables) {
        job_row& row = tables.jobs.at(id).committed.value();
        if (row.due_at) *row.due_at -= by;
        row.enqueued_at -= by;
        if (row.available_at) *row.available_at -= by;
        row.claimed_at -= by;
        row.ended_at -= by;
        row.prune_at -= by;
        for (job_failure& each : row.failures) {
            each.began_ago -= by;
            each.ended_ago -= by;
        }
    });
}

void memory_database::age_queue(const std::string& name, microseconds by) {
    server_->with_tables([&](memory_tables& tables) {
        queue_row& row = tables.queues.at(name);
        row.starts_from -= by;
        if (row.swept_at) *row.swept_at -= by;
    });
}

void memory_database::remove_session_row(const session_id& id) {
    server_->with_tables([&](memory_tables& tables) { tables.sessions.erase(id); });
}

memory_tables memory_database::copy() const {
    return server_->with_tables([](const memory_tables& tables) { return tables; });
}

void memory_database::put_back(const memory_tables& older, bool says_so) {
    server_->with_tables([&](memory_tables& tables) {
        const auto now = tables.now;
        const auto incarnation = tables.incarnation + (says_so ? 1 : 0);
        tables = older;
        tables.now = now;
        tables.incarnation = incarnation;
    });
}

bool memory_database::is_held(const key& name) const {
    return server_->with_tables([&](memory_tables& tables) {
        const lock_row* const row = find_row(tables, name);
        return row && is_live_hold(tables, *row);
    });
}

bool memory_database::wait_until_free(const key& name, std::chrono::milliseconds timeout) const {
    return server_->wait_until(
        [&](const memory_tables& tables) {
            const auto found = tables.locks.find(name.name());
            return found == tables.locks.end() || !is_live_hold(tables, found->second);
        },
        timeout
    );
}

}  // namespace leasehold::testing
