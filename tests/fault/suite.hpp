#pragma once
// The common parts of all fault tests on a real server: the server, a connection to ask it, and a
// database whose connections are known there.
#include <algorithm>
#include <future>
#include <mutex>
#include <optional>

#include "conformance/suite.hpp"
#include "database/database.hpp"
#include "fault/server.hpp"
#include "fault/traffic.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/key.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/once.hpp"
#include "locks/hold_store.hpp"
#include "session/session_store.hpp"

namespace leasehold::testing {

class server_suite : public suite {
protected:
    // One question at a time, over a connection that takes part in nothing.
    template <class Ask>
    auto ask(Ask&& question) {
        const std::lock_guard guard{asker_mutex_};
        return std::forward<Ask>(question)(*asker_);
    }

    std::int64_t now() {
        return ask([&](connection& on) { return server_->now(on); });
    }
    std::int64_t expiry_of(const session_id& id) {
        return ask([&](connection& on) { return server_->expiry_of(on, id); });
    }
    std::int64_t id_of(transaction& tx) { return server_->id_of(transaction_ref{tx}.inside()); }
    std::vector<std::int64_t> waiting_behind(std::int64_t id) {
        return ask([&](connection& on) { return server_->waiting_behind(on, id); });
    }
    bool is_waiting_behind(std::int64_t id) { return !waiting_behind(id).empty(); }

    void kill(std::int64_t id) {
        ask([&](connection& on) { server_->kill(on, id); });
        EXPECT_TRUE(eventually([&] {
            return !ask([&](connection& on) { return server_->is_connected(on, id); });
        })) << "the server did not end the connection";
    }
    void kill_all(const traffic& of) {
        for (const auto id : of.connections()) kill(id);
    }

    database watched_by(const std::shared_ptr<traffic>& by, database_settings settings = {}) {
        auto behind_settings = settings;
        behind_settings.observer = nullptr;
        const auto ask_id = [to = server_](connection& on) { return to->id_of(on); };
        return watched(current().open(behind_settings), by, ask_id, settings);
    }

    // A key whose row exists and is free, and its token.
    struct known_key {
        key name;
        std::int64_t token = 0;
    };
    known_key known(const char* about) {
        session once{first_, calm("once")};
        known_key made{fresh(about)};
        auto got = mutex{once, made.name}.try_acquire();
        made.token = token_of(got);
        EXPECT_TRUE(got && got->release() == release_outcome::released);
        return made;
    }

    // The session expires in `remaining`, by the server's clock; answers with that instant.
    std::int64_t leave(const session& whose, std::chrono::milliseconds remaining) {
        current().age_session(whose.id(), whose.settings().ttl - remaining);
        return expiry_of(whose.id());
    }
    bool passed(std::int64_t instant) {
        return eventually([&] { return now() > instant; });
    }

    // The library's own statements on a transaction that stays open: a grant, a renewal in flight.
    acquire_result grant_in(transaction& tx, const key& name, const session& to) {
        connection& inside = transaction_ref{tx}.inside();
        const acquire_request wanted{name, owner_id::random(), to.id(), "in flight", {}};
        return first_.inner()->ready_store(inside).get<hold_store>().try_acquire(inside, wanted);
    }
    heartbeat_status renew_in(transaction& tx, const session& whose) {
        connection& inside = transaction_ref{tx}.inside();
        auto& sessions = first_.inner()->ready_store(inside).get<session_store>();
        return sessions.heartbeat(inside, whose.id(), 1h, {}).status;
    }
    heartbeat_status renew(const database& db, const session_id& id) {
        return db.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<session_store>().heartbeat(on, id, 1h, {}).status;
        });
    }
    bool is_live_in_database(const session_id& id) {
        for (const auto& each : list_sessions(second_)) {
            if (each.id == id) return each.is_live;
        }
        return false;
    }

    const std::shared_ptr<server> server_ =
        make_server(current().name, first_.settings().names.prefix);

private:
    std::mutex asker_mutex_;
    std::unique_ptr<connection> asker_ =
        current().open_as_owner({}).inner()->connections().connect_apart(5s);
};

template <class Future>
bool is_ready(const Future& what) {
    return what.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

// Keeps every event, for tests that ask which kinds came.
class event_log final : public observer {
public:
    void on_event(const event& what) noexcept override {
        const std::lock_guard guard{mutex_};
        kinds_.push_back(what.kind);
    }
    int count(event_kind kind) const {
        const std::lock_guard guard{mutex_};
        return static_cast<int>(std::count(kinds_.begin(), kinds_.end(), kind));
    }

private:
    mutable std::mutex mutex_;
    std::vector<event_kind> kinds_;
};

}  // namespace leasehold::testing
