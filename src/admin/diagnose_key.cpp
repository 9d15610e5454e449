// The doctor's second question: why a key is not granted, and to whom it will be.
#include <utility>

#include "admin/health_store.hpp"
#include "core/in_words.hpp"
#include "core/shell_word.hpp"
#include "database/database.hpp"
#include "database/read.hpp"
#include "leasehold/doctor.hpp"
#include "leasehold/inspect.hpp"
#include "locks/hold_store.hpp"

namespace leasehold {
namespace {

using std::chrono::microseconds;

class key_examiner {
public:
    key_examiner(const database& db, const key& name LEASEHOLD_LIFETIMEBOUND)
        : db_(db), name_(name) {}

    key_diagnosis all() {
        found_.lock = describe(db_, name_);
        found_.holders = list_holders(db_, name_);
        found_.waiters = list_waiters(db_, name_);
        found_.row_lock = find_row_lock(db_, name_);
        look_at_session();
        add_hold();
        add_row_lock();
        if (!found_.row_lock) look_at_unknown_row_lock();
        add_waiters();
        return std::move(found_);
    }

private:
    void add(
        severity weight,
        const char* name,
        std::string what,
        std::string why = {},
        std::string how = {}
    ) {
        found_.findings.push_back({weight, name, std::move(what), std::move(why), std::move(how)});
    }

    void look_at_session() {
        read(db_, [&](connection& on, store_set& stores) {
            if (!stores.find<health_store>()) return;
            const bool is_held = found_.lock && found_.lock->is_held;
            if (is_held && found_.lock->session) {
                found_.session = stores.get<health_store>().session_of(on, *found_.lock->session);
            }
            closed_for_ = stores.get<health_store>().closed_for(on, name_);
        });
    }

    // A user who may only read cannot try whether the row is locked.
    void look_at_unknown_row_lock() {
        const auto refused = read(db_, [&](connection& on, store_set& stores) {
            return stores.get<hold_store>().why_row_lock_is_unknown(on, name_);
        });
        if (!refused) return;
        found_.findings.push_back(
            not_looked_at("whether an open transaction has the row of the key locked", *refused)
        );
    }

    void add_hold() {
        const std::string key = "'" + name_.name() + "'";
        if (!found_.lock) {
            add(severity::good,
                "never_locked",
                key + " was never locked, or not for so long that it was cleaned up");
            return;
        }
        const lock_info& lock = *found_.lock;
        if (!lock.is_held && closed_for_) {
            add(severity::warning,
                "lock_delay",
                key + " is closed for another " + in_words(*closed_for_) + ": its holder " +
                    lock.node_info + " has died, and was given a lock_delay",
                "nobody can be granted it before: what the dead one has sent may still arrive",
                "wait for it");
        } else if (!lock.is_held) {
            add(severity::good,
                "free",
                key + " is free" +
                    (lock.node_info.empty() ? "" : "; the last to have it was " + lock.node_info) +
                    " (token " + std::to_string(lock.token.number) + ")");
        } else {
            add_holder(key, lock);
        }
    }

    void add_holder(const std::string& key, const lock_info& lock) {
        const std::string by = lock.session ? "while its session lives" : "for a fixed term";
        std::string who = lock.node_info;
        if (lock.holders > 1) who += " and " + std::to_string(lock.holders - 1) + " more";
        add(severity::good,
            "held",
            key + " is held as a " + name_of(lock.kind) + " by " + who + " for " +
                in_words(lock.held_for) + ", " + by + " (token " +
                std::to_string(lock.token.number) + "); " +
                (lock.session ? "without another heartbeat it is free in " : "it is free in ") +
                in_words(lock.remaining) +
                (lock.metadata.empty() ? "" : "; its note: " + lock.metadata));
        if (!found_.session) return;
        // The ttl as the last heartbeat gave it.
        const microseconds ttl = found_.session->heartbeat_ago + found_.session->remaining;
        if (found_.session->heartbeat_ago <= ttl / 2) return;
        add(severity::warning,
            "holder_silent",
            "the last heartbeat of " + lock.node_info + " was " +
                in_words(found_.session->heartbeat_ago) + " ago, of a ttl of " + in_words(ttl),
            "it is stopped, or has lost the database: its lease ends in " +
                in_words(lock.remaining),
            "wait for that; or, where its process is known to be dead: leasehold unlock " +
                shell_word(name_.name()) + " --force");
    }

    void add_row_lock() {
        if (!found_.row_lock) return;
        const row_lock_info& by = *found_.row_lock;
        std::string who = by.locks_all_keys ? "process " : "connection ";
        who = by.connection != 0 ? who + std::to_string(by.connection)
                                 : std::string{"a transaction that the server does not name"};
        if (!by.user.empty()) who += " of user " + by.user;
        if (!by.host.empty()) who += " at " + by.host;
        if (!by.application.empty()) who += " (" + by.application + ")";
        if (by.open_for) who += ", open for " + in_words(*by.open_for);
        if (!by.state.empty()) who += ", state: " + by.state;
        if (!by.statement.empty()) who += ", its statement: " + by.statement;
        if (by.may_be_others) who += "; or others, which began later";
        const bool is_held = found_.lock && found_.lock->is_held;
        add(is_held ? severity::good : severity::warning,
            "row_locked",
            "an open transaction has " +
                std::string{by.locks_all_keys ? "the whole file" : "the row of the key"} +
                " locked: " + who,
            is_held ? "" : "until it ends nobody can be granted the key, though nobody holds it",
            !by.way_to_end.empty() ? "end it in its program, or: " + by.way_to_end
            : !by.missing_right.empty()
                ? "end it in its program; to be told more this user needs " + by.missing_right
                : "end it in its program");
    }

    void add_waiters() {
        if (found_.waiters.empty()) return;
        const waiter_info& first = found_.waiters.front();
        const std::string key = shell_word(name_.name());
        const std::size_t count = found_.waiters.size();
        std::string what = count == 1
                               ? first.node_info + " waits for it"
                               : std::to_string(count) + " wait for it; first " + first.node_info;
        what += ", for " + in_words(first.waits_for);
        const bool is_asked_for = found_.lock && found_.lock->is_held;
        add(severity::good,
            "waiters",
            std::move(what),
            "",
            is_asked_for ? "leasehold unlock " + key + " --ask asks the holder to let go" : "");
    }

    const database& db_;
    const key& name_;
    key_diagnosis found_;
    std::optional<microseconds> closed_for_;
};

}  // namespace

key_diagnosis diagnose_key(const database& db, const key& name) {
    return key_examiner{db, name}.all();
}

}  // namespace leasehold
