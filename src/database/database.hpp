#pragma once
// The implementation of a leasehold::database: the pool, and the store of the engine found there.
//
// One way in: use(…) lends a connection together with the store for the length of one call. The
// store is chosen when the first connection says what it is connected to; the schema is checked
// once, before the first use that is not about the schema itself.
//
// Threads: safe.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "core/model_engine.hpp"
#include "core/one_of_each.hpp"
#include "core/thread_mutex.hpp"
#include "database/combiner.hpp"
#include "database/notifier.hpp"
#include "database/open_transactions.hpp"
#include "database/pool.hpp"
#include "database/unattended_calls.hpp"
#include "database/wait_registry.hpp"
#include "leasehold/database.hpp"
#include "leasehold/error.hpp"
#include "session/session_store.hpp"
#include "sql/store_set.hpp"
#include "sql/written_nodes.hpp"

namespace leasehold {

// Makes the stores of an engine, without a connection: for printing SQL.
std::unique_ptr<store_set> make_stores(
    engine which, const table_names& names, written_nodes written = written_nodes::one
);

// Lends a pooled connection; gives it back when destroyed.
class lent_connection {
public:
    struct beside {};

    explicit lent_connection(pool& from, const bounds& of_call = {})
        : from_(&from), filling_(from.filling()), held_(from.take(of_call)) {}
    lent_connection(pool& from, beside, const bounds& of_call)
        : from_(&from), filling_(from.filling()), held_(from.take_beside(of_call)) {}
    lent_connection(lent_connection&& other) noexcept
        : from_(other.from_), filling_(other.filling_), held_(std::move(other.held_)) {}
    lent_connection& operator=(lent_connection&&) = delete;
    ~lent_connection() {
        if (!held_) return;
        held_->set_is_callers(false);
        from_->give_back(std::move(held_), filling_);
    }
    connection& operator*() const noexcept { return *held_; }
    connection* operator->() const noexcept { return held_.get(); }

private:
    pool* from_;
    int filling_;
    std::unique_ptr<connection> held_;
};

class database::implementation {
public:
    implementation(connector connect, connector create, database_settings settings);
    // The model of the tests: stores that need no database.
    implementation(connector connect, std::unique_ptr<store_set> given, database_settings settings);

    // Calls with(on, stores) on one connection, after the schema was found to be the right one.
    template <class Use>
    auto use(const bounds& of_call, Use&& with) {
        lent_connection on{pool_, of_call};
        return heard(of_call, *on, [&] { return with(*on, ready_store(*on)); });
    }
    template <class Use>
    auto use(Use&& with) {
        return use(bounds{}, std::forward<Use>(with));
    }
    // Carries out one operation of a store: ask(of_call, &hold_store::find_grant, name, owner).
    template <class Store, class Answer, class... Wanted, class... Given>
    Answer ask(
        const bounds& of_call,
        Answer (Store::*operation)(connection&, Wanted...),
        const Given&... given
    ) {
        return use(of_call, [&](connection& on, store_set& stores) {
            return (stores.get<Store>().*operation)(on, given...);
        });
    }
    // As use(), but only to read: it also admits a server that programs refuse, such as a standby.
    template <class Use>
    auto use_to_read(const bounds& of_call, Use&& with) {
        lent_connection on{pool_, of_call};
        return heard(of_call, *on, [&] { return with(*on, readable_store(*on)); });
    }
    // As use(), for a caller that may already hold a connection of the pool.
    template <class Use>
    auto use_beside(const bounds& of_call, Use&& with) {
        lent_connection on{pool_, lent_connection::beside{}, of_call};
        return heard(of_call, *on, [&] { return with(*on, ready_store(*on)); });
    }
    // As use(), without the check of the schema; for migrations, and at the end of a session.
    template <class Use>
    auto use_unchecked(const bounds& of_call, Use&& with) {
        lent_connection on{pool_, of_call};
        return heard(of_call, *on, [&] { return with(*on, store_for(*on)); });
    }
    template <class Use>
    auto use_unchecked(Use&& with) {
        return use_unchecked(bounds{}, std::forward<Use>(with));
    }

    // The store for a connection that is not from the pool; checks the schema on first use.
    store_set& ready_store(connection& on);
    // As ready_store(), only to read.
    store_set& readable_store(connection& on);
    store_set& store_for(connection& on);
    // Looks whether the server has become a node of a cluster of which several are written to, or
    // has standbys that no commit waits for; `on` is our own. A handle that has found such a node
    // keeps that: its stores are others from then on, and so are its connections.
    void look_for_cluster(connection& on);
    bool has_several_writers() const noexcept { return has_several_writers_; }
    // True for one caller each 30 s, which then looks.
    bool is_look_due() noexcept;
    // Connects and looks if nobody has done so yet, or not for a while.
    void get_ready();

    // Makes the database file if the engine needs one; see database.hpp.
    void create();
    // The schema was changed: look again before the next use.
    void forget_schema() noexcept;

    // The place of this database, see schema_store.hpp: as it was when asked last, and now.
    std::string place();
    std::string place_now();

    // The engine of the server last seen; memory if there was none yet.
    engine which() const {
        const thread_guard guard{mutex_};
        return engine_;
    }
    pool& connections() noexcept { return pool_; }
    const pool& connections() const noexcept { return pool_; }
    // True when requests that wait for a connection travel together, to be granted a key or to
    // release one. Not on SQLite: its writers wait for the file.
    bool combines() const { return which() != engine::sqlite; }
    combiner& acquires() noexcept { return acquires_; }
    combiner& releases() noexcept { return releases_; }
    leasehold::notifier& notifier() noexcept { return notifier_; }
    wait_registry& waits() noexcept { return waits_; }
    unattended_calls& unattended() noexcept { return unattended_; }
    // A feature keeps this for the handle. It is made at its first use.
    template <class Part>
    Part& part() {
        return *parts_.get<Part>([this] { return std::make_shared<Part>(*this); });
    }
    leasehold::open_transactions& open_transactions() noexcept { return open_transactions_; }
    const database_settings& settings() const noexcept { return settings_; }
    void tell(const event& what) const noexcept {
        if (settings_.observer) settings_.observer->on_event(what);
    }

private:
    static constexpr std::chrono::seconds look_interval{30};

    connector entering(connector connect);
    void go_on_in_cluster(connection& on);
    // Checks each new connection for this handle. Throws if the handle refuses the server.
    void admit(connection& on);
    // Standbys come and go, and the setting may be taken away: each change for the worse is told.
    void heed(connection& on, const session_store::replication& found);
    void tell_standbys(const session_store::replication& found);
    // Throws if another server had the same timeline, and continued it on a branch of its own.
    struct branch {
        std::int64_t number = 0;
        std::string incarnation{};
    };
    void require_branch(
        const std::string& place, branch seen, const std::function<std::int64_t()>& begin
    );
    // Calls `ask`, and tells the pool when no answer came.
    template <class Ask>
    auto heard(const bounds& of_call, connection& on, Ask&& ask) {
        const auto began = local_clock::now();
        try {
            return ask();
        } catch (const error& failure) {
            const bool gave_up = failure.code() == errc::timed_out;
            if (gave_up && on.state() == connection_state::lost) {
                const auto waited = local_clock::now() - began;
                const bool is_last =
                    of_call.is_parting && waited >= settings_.statement_timeout / 2;
                is_last ? pool_.note_ignored(began) : pool_.note_silence();
            }
            throw;
        }
    }

    const database_settings settings_;
    const connector create_;
    pool pool_;
    combiner acquires_{pool_};
    combiner releases_{pool_};
    one_of_each parts_;
    leasehold::open_transactions open_transactions_;
    mutable thread_mutex mutex_;
    std::string place_ LEASEHOLD_GUARDED_BY(mutex_);  // empty: not asked yet
    std::string told_standbys_ LEASEHOLD_GUARDED_BY(mutex_);
    bool has_waited_ LEASEHOLD_GUARDED_BY(mutex_) = false;  // its commits, for a standby
    std::map<std::string, branch> branches_ LEASEHOLD_GUARDED_BY(mutex_);  // by place
    engine engine_ LEASEHOLD_GUARDED_BY(mutex_) = model_engine;
    // Made once, and lent after that.
    std::unique_ptr<store_set> stores_ LEASEHOLD_GUARDED_BY(mutex_);
    std::unique_ptr<store_set> cluster_stores_ LEASEHOLD_GUARDED_BY(mutex_);
    std::atomic<bool> has_several_writers_ = false;
    std::atomic<local_clock::time_point> next_look_{local_clock::now() + look_interval};
    std::atomic<bool> schema_checked_ = false;
    std::atomic<bool> is_readable_ = false;  // only to read; the schema is checked
    leasehold::notifier notifier_{settings_.wakeup_address};
    wait_registry waits_{*this};                              // its thread uses all of the above
    unattended_calls unattended_{settings_.max_connections};  // last: so do these threads
};

}  // namespace leasehold
