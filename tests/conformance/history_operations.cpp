// The kinds of steps, and their execution on a store. An answer has the parts that both sides must
// agree on: no ticket, which begins at a clock, and no time but in hours.
#include <algorithm>

#include "conformance/history.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/waiter_store.hpp"
#include "session/session_store.hpp"
#include "support/clean_up.hpp"

namespace leasehold::testing {
namespace {

using event = history_event::kind;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

std::string text_of(bool answer) {
    return answer ? "yes" : "no";
}
std::string text_of(const std::vector<bool>& answers) {
    std::string text;
    for (const bool each : answers) text += each ? "yes " : "no ";
    return text;
}
std::string text_of(const std::vector<standing>& answers) {
    std::string text;
    for (const standing each : answers) {
        text += each == standing::gone ? "gone " : each == standing::held ? "held " : "asked ";
    }
    return text;
}
template <class Number>
std::string text_of_number(const std::optional<Number>& number) {
    return number ? std::to_string(*number) : "nothing";
}
std::string text_of(const std::optional<fencing_token>& token) {
    return token ? "token " + std::to_string(token->number) : "nothing";
}
std::string text_of(release_outcome outcome) {
    switch (outcome) {
        case release_outcome::released:
            return "released";
        case release_outcome::still_held:
            return "still held";
        case release_outcome::not_held:
            return "not held";
        case release_outcome::unknown:
            return "unknown";
    }
    return "?";
}

}  // namespace

#define CARRY_OUT(NAME)                                                                 \
    static std::string NAME(                                                            \
        history_side& side, connection& on, store_set& stores, const history_step& what \
    )

// The operations of history_side, whose friend this is. They would make its header too long.
struct history_operations {
    static hold_store& holds(const store_set& of) { return of.get<hold_store>(); }
    static holder_store& holders(const store_set& of) { return of.get<holder_store>(); }
    static waiter_store& waiters(const store_set& of) { return of.get<waiter_store>(); }
    // ------------------------------------------------------------------------------- hold_store

    CARRY_OUT(try_acquire) {
        const auto answer = holds(stores).try_acquire(on, side.mutex_request(what));
        switch (answer.status) {
            case acquire_status::granted:
                side.note_grant(what, answer.token.number);
                return "granted under " + std::to_string(answer.token.number);
            case acquire_status::busy:
                return "busy: " + side.text_of(answer.holder);
            case acquire_status::session_ended:
                return "session ended";
            case acquire_status::wrong_kind:
                return std::string("wrong kind: ") + name_of(answer.kind);
        }
        return "?";
    }
    CARRY_OUT(find_grant) {
        const hold held = side.hold_of(what);
        return text_of(holds(stores).find_grant(on, held.key, held.owner));
    }
    CARRY_OUT(reenter) { return text_of_number(holds(stores).reenter(on, side.hold_of(what))); }
    CARRY_OUT(release) {
        const auto outcome = holds(stores).release(on, side.hold_of(what));
        if (outcome == release_outcome::released) side.tell(event::released, what);
        return text_of(outcome);
    }
    CARRY_OUT(release_owner) {
        const hold held = side.hold_of(what);
        const auto outcome = holds(stores).release_owner(on, held.key, held.owner);
        if (outcome == release_outcome::released) side.tell(event::released, what);
        return text_of(outcome);
    }
    CARRY_OUT(prove) {
        on.begin();
        const bool answer = with_store_of(stores, what.kind, [&](auto& any) {
            return any.prove(on, side.hold_of(what));
        });
        on.commit();
        return text_of(answer);
    }
    CARRY_OUT(standings) {
        hold other = side.hold_of(what);
        other.owner = side.names_.owner(what.owner + 1);
        return text_of(holds(stores).standings(on, {side.hold_of(what), other}));
    }
    CARRY_OUT(which_are_held) {
        hold other = side.hold_of(what);
        other.owner = side.names_.owner(what.owner + 1);
        return text_of(holders(stores).which_are_held(on, {side.hold_of(what), other}));
    }
    CARRY_OUT(describe) {
        const auto found = holds(stores).describe(on, side.names_.key(what.key), true);
        if (!found) return side.text_of(std::optional<lock_info>{});
        return std::to_string(found->info.waiters) + " waiters, " + side.text_of(found->info);
    }
    CARRY_OUT(list) {
        return side.text_of(holds(stores).list(on, side.names_.prefix(), "", what.hours + 1));
    }
    CARRY_OUT(force_release) {
        const auto freed = holds(stores).force_release(on, side.names_.key(what.key), std::nullopt);
        if (freed) side.tell(event::emptied, what);
        return side.text_of(freed);
    }
    CARRY_OUT(change_kind) {
        return text_of(holds(stores).change_kind(on, side.names_.key(what.key), what.kind));
    }

    // ----------------------------------------------------------------------------- waiter_store

    CARRY_OUT(enqueue) {
        const auto answer = waiters(stores).enqueue(on, side.mutex_request(what));
        switch (answer.status) {
            case enqueue_status::waiting: {
                side.tickets_[{what.key, what.owner}] = answer.ticket;
                side.queued_[{what.key, what.owner}] = what;
                std::int64_t& last = side.last_tickets_[what.key];
                const bool is_later = answer.ticket > last;
                last = answer.ticket;
                return std::string("waits, ") + (is_later ? "behind" : "NOT BEHIND") +
                       " all others" + (answer.looks_takeable ? ", looks takeable" : "");
            }
            case enqueue_status::session_ended:
                return "session ended";
            case enqueue_status::not_now:
                return "not now";
            case enqueue_status::unknown_key:
                return "unknown key";
            case enqueue_status::wrong_kind:
                return std::string("wrong kind: ") + name_of(answer.kind);
        }
        return "?";
    }
    CARRY_OUT(leave) {
        const waiter_id who = side.waiter_of(what);
        return text_of(waiters(stores).leave(on, who.key, who.owner, who.ticket));
    }
    CARRY_OUT(withdraw_waiter) {
        const waiter_id who = side.waiter_of(what);
        return text_of(waiters(stores).leave(on, who.key, who.owner, std::nullopt));
    }
    CARRY_OUT(hand_over) {
        return side.text_of(waiters(stores).hand_over(on, side.hold_of(what)), what);
    }
    CARRY_OUT(serve) {
        return side.text_of(waiters(stores).serve(on, side.names_.key(what.key)), what);
    }
    CARRY_OUT(look) {
        std::vector<waiter_id> all{side.waiter_of(what)};
        for (const auto& [at, ticket] : side.tickets_) {
            all.push_back({side.names_.key(at.first), side.names_.owner(at.second), ticket});
        }
        std::string text;
        for (const look_result& each : waiters(stores).look(on, all)) {
            if (each.status == look_status::gone) text += "gone ";
            if (each.status == look_status::waiting) {
                text += each.looks_takeable ? "waiting(takeable) " : "waiting ";
            }
            if (each.status == look_status::granted) {
                text += "granted(" + std::to_string(each.token.number);
                if (each.term_left) {
                    const auto left = std::chrono::round<hours>(*each.term_left).count();
                    text += ", " + std::to_string(left) + " h left";
                }
                text += ") ";
            }
        }
        return text;
    }
    CARRY_OUT(closes_a_circle) {
        const identity own = side.names_.session(what.session);
        return text_of(waiters(stores).closes_a_circle(on, side.waiter_of(what), own));
    }
    CARRY_OUT(find_unserved) {
        (void)what;
        std::vector<std::string> names;
        for (const key& each : unserved_keys(on, stores)) {
            if (each.name().starts_with(side.names_.prefix())) names.push_back(each.name());
        }
        std::sort(names.begin(), names.end());
        std::string text;
        for (const std::string& each : names) text += each + " ";
        return text;
    }

    // ----------------------------------------------------------------------------- holder_store

    CARRY_OUT(try_hold) {
        const auto answer = holders(stores).try_acquire(on, side.place_request(what));
        switch (answer.status) {
            case holder_status::granted:
                side.note_grant(what, answer.token.number);
                return "granted under " + std::to_string(answer.token.number);
            case holder_status::busy:
                return answer.holder ? "busy" : "busy, and nobody is in the way";  // any of them
            case holder_status::session_ended:
                return "session ended";
            case holder_status::other_kind:
                return std::string("other kind: ") + name_of(answer.kind);
            case holder_status::other_capacity:
                return "other capacity: " + std::to_string(answer.capacity);
            case holder_status::lost:
                return "lost";
        }
        return "?";
    }
    CARRY_OUT(find_hold) {
        const hold held = side.hold_of(what);
        return text_of(holders(stores).find_grant(on, held.key, held.owner));
    }
    CARRY_OUT(release_hold) {
        const auto outcome = holders(stores).release(on, side.hold_of(what));
        if (outcome == release_outcome::released) side.tell(event::released, what);
        return text_of(outcome);
    }
    CARRY_OUT(release_holder) {
        const hold held = side.hold_of(what);
        const auto outcome = holders(stores).release_owner(on, held.key, held.owner);
        if (outcome == release_outcome::released) side.tell(event::released, what);
        return text_of(outcome);
    }
    CARRY_OUT(announce) {
        holders(stores).announce(on, side.place_request(what));
        return look_at_holder(side, on, stores, what);
    }
    CARRY_OUT(withdraw_holder) {
        const hold held = side.hold_of(what);
        holders(stores).withdraw(on, held.key, held.owner);
        return look_at_holder(side, on, stores, what);
    }
    CARRY_OUT(reduce) {
        const bool is_there =
            holders(stores).reduce(on, side.hold_of(what), what.mode, what.permits);
        if (is_there) side.tell(event::reduced, what);
        return text_of(is_there);
    }
    CARRY_OUT(resize) {
        const key name = side.names_.key(what.key);
        return text_of(holders(stores).resize(on, name, lock_kind::semaphore, what.capacity));
    }
    CARRY_OUT(arrive) {
        const auto arrived = holders(stores).arrive(on, side.hold_of(what));
        if (arrived) side.tell(event::released, what);
        return text_of_number(arrived);
    }
    CARRY_OUT(tally) {
        const auto found = holders(stores).tally(on, side.names_.key(what.key));
        if (!found) return "nothing";
        return std::string(name_of(found->kind)) + ", arrived " + std::to_string(found->arrived) +
               ", present " + std::to_string(found->present) + ", capacity " +
               std::to_string(found->capacity);
    }
    CARRY_OUT(pass) {
        const key name = side.names_.key(what.key);
        if (!holders(stores).pass(on, name)) return "no";
        std::string text = "yes";
        for (const auto& [owner, number] : side.owners_) {
            const auto seen = holders(stores).look(on, {{name, owner}}).at(0);
            if (!seen || (seen->bits & holder_bits::passed) == 0) continue;
            history_step by = what;
            by.owner = number;
            side.tokens_[{what.key, number}] = seen->token.number;
            side.tell(event::passed, by, seen->token.number);
            text += ", " + side.text_of(owner) + " under " + std::to_string(seen->token.number);
        }
        return text;
    }
    CARRY_OUT(look_at_holder) {
        const hold held = side.hold_of(what);
        const auto seen = holders(stores).look(on, {{held.key, held.owner}}).at(0);
        if (!seen || (seen->bits == 0 && seen->token.number == 0)) return "nothing";
        return "bits " + std::to_string(seen->bits) + " " + text_of(std::optional{seen->token});
    }
    CARRY_OUT(holders_of) {
        return side.text_of(holders(stores).holders_of(on, side.names_.key(what.key)));
    }
    CARRY_OUT(list_holders) {
        const std::string prefix = side.names_.prefix();
        return side.text_of(holders(stores).list(on, prefix, "", {}, what.hours + 1));
    }
    CARRY_OUT(force_holders) {
        const auto freed = holders(stores).force_release(on, side.names_.key(what.key));
        if (!freed.empty()) side.tell(event::emptied, what);
        return side.text_of(freed);
    }

    // ---------------------------------------------------------------------------- session_store

    CARRY_OUT(start) {
        const session_start made{
            side.names_.session(what.session),
            "node " + std::to_string(what.session),
            hours{what.hours}};
        stores.get<session_store>().start(on, made);
        side.tell(event::started, what);
        return "done";
    }
    CARRY_OUT(take_over) {
        const std::string name = "node " + std::to_string(what.session);
        const session_start to{side.names_.session(what.session), name, hours{what.hours}};
        const bool is_taken =
            stores.get<session_store>().take_over(on, to, what.is_instead ? "somebody else" : name);
        if (is_taken) side.tell(event::renewed, what);
        return text_of(is_taken);
    }
    CARRY_OUT(heartbeat) {
        std::int64_t& known = side.notices_[what.session];
        const auto answer = stores.get<session_store>().heartbeat(
            on, side.names_.session(what.session), hours{what.hours}, {known}
        );
        if (answer.status == heartbeat_status::ended) return "ended";
        if (answer.status == heartbeat_status::noticed) {
            known = answer.news.notices;
            return "noticed " + std::to_string(known);
        }
        side.tell(event::renewed, what);
        return "renewed";
    }
    CARRY_OUT(end) {
        std::optional<std::vector<waiter_id>> removes_row;
        if (what.removes_row) removes_row.emplace();
        stores.get<session_store>().end(on, side.names_.session(what.session), removes_row);
        side.tell(event::ended, what);
        return "done";
    }
    CARRY_OUT(list_sessions) {
        std::string text = what.hours > 0 ? "all:" : "";
        for (const session_info& each : stores.get<session_store>().list(on)) {
            if (!side.people_.contains(each.id.untyped())) continue;
            const auto left = std::chrono::round<hours>(each.remaining).count();
            text += side.text_of(each.id.untyped()) + (each.is_live ? " live " : " dead ") +
                    std::to_string(left) + " h; ";
        }
        return text;
    }
    // The session shows no sign of life for so long.
    CARRY_OUT(is_silent) {
        (void)on, (void)stores;
        return aged([&] {
            side.at_.age_session(
                side.names_.session(what.session), hours{what.hours} + seconds{10}
            );
        });
    }
    CARRY_OUT(term_passes) {
        (void)on, (void)stores;
        return aged([&] {
            side.at_.age_lock(side.names_.key(what.key), hours{what.hours} + seconds{10});
        });
    }
    CARRY_OUT(time_passes) {
        std::string text;
        history_step each = what;
        for (each.session = 0; each.session < history_names::sessions; ++each.session) {
            text += is_silent(side, on, stores, each) + " ";
        }
        for (each.key = 0; each.key < history_names::keys; ++each.key) {
            text += term_passes(side, on, stores, each) + " ";
        }
        return text;
    }

    // ----------------------------------------------------------------------------- upkeep_store

    CARRY_OUT(free_locks_of_the_dead) {
        (void)side, (void)what;
        return std::to_string(clean_up(on, stores, upkeep_task::dead_locks));
    }
    CARRY_OUT(remove_dead) {
        (void)side, (void)what;
        // Engines differ in how many rows of dead holders they keep, so the number is not compared.
        clean_up(on, stores, upkeep_task::dead_holders);
        return "done";
    }
    CARRY_OUT(remove_dead_waiters) {
        (void)side, (void)what;
        clean_up(on, stores, upkeep_task::dead_waiters);  // not compared either
        return "done";
    }
    // A session is old when everything that can refer to it was looked through.
    CARRY_OUT(remove_sessions) {
        remove_dead(side, on, stores, what);
        remove_dead_waiters(side, on, stores, what);
        const std::string freed = free_locks_of_the_dead(side, on, stores, what);
        const hours retention{what.hours};
        return freed + " locks, " +
               std::to_string(clean_up(on, stores, upkeep_task::old_sessions, retention));
    }
    CARRY_OUT(remove_idle_locks) {
        remove_dead(side, on, stores, what);
        const hours retention{what.hours};
        return std::to_string(clean_up(on, stores, upkeep_task::idle_locks, retention));
    }

private:
    // A row that is not there is an answer, too.
    template <class Age>
    static std::string aged(Age&& age) {
        try {
            age();
            return "done";
        } catch (const error&) {
            throw;
        } catch (const std::exception&) {
            return "no row";
        }
    }
};

#undef CARRY_OUT

const std::vector<history_operation>& operations() {
    using is = history_operations;
    using shape = step_shape;
    static const std::vector<history_operation> all{
        {"try_acquire", shape::mutex_try, 14, is::try_acquire},
        {"find_grant", shape::mutex_hold, 2, is::find_grant},
        {"reenter", shape::mutex_hold, 3, is::reenter},
        {"release", shape::mutex_hold, 6, is::release},
        {"release_owner", shape::mutex_hold, 2, is::release_owner},
        {"prove", shape::mutex_hold, 1, is::prove},
        {"standings", shape::mutex_hold, 2, is::standings},
        {"describe", shape::key_alone, 2, is::describe},
        {"list", shape::everything, 1, is::list},
        {"force_release", shape::key_alone, 2, is::force_release},
        {"change_kind", shape::key_alone, 2, is::change_kind},
        {"enqueue", shape::mutex_try, 8, is::enqueue},
        {"leave", shape::waiter, 2, is::leave},
        {"withdraw the waiter", shape::waiter, 1, is::withdraw_waiter},
        {"hand_over", shape::mutex_hold, 5, is::hand_over},
        {"serve", shape::key_alone, 3, is::serve},
        {"look", shape::waiter, 3, is::look},
        {"closes_a_circle", shape::waiter, 2, is::closes_a_circle},
        {"find_unserved", shape::everything, 1, is::find_unserved},
        {"try_acquire as one of several", shape::holder_try, 20, is::try_hold},
        {"find_grant of a holder", shape::holder_hold, 1, is::find_hold},
        {"release of a holder", shape::holder_hold, 5, is::release_hold},
        {"release_owner of a holder", shape::holder_hold, 2, is::release_holder},
        {"prove of a holder", shape::holder_hold, 1, is::prove},
        {"which_are_held of holders", shape::holder_hold, 2, is::which_are_held},
        {"announce", shape::holder_try, 3, is::announce},
        {"withdraw of a holder", shape::holder_hold, 2, is::withdraw_holder},
        {"reduce", shape::holder_hold, 3, is::reduce},
        {"resize", shape::key_alone, 2, is::resize},
        {"arrive", shape::holder_hold, 4, is::arrive},
        {"tally", shape::key_alone, 1, is::tally},
        {"pass", shape::key_alone, 4, is::pass},
        {"look at a holder", shape::holder_hold, 1, is::look_at_holder},
        {"holders_of", shape::key_alone, 1, is::holders_of},
        {"list of holders", shape::everything, 1, is::list_holders},
        {"force_release of holders", shape::key_alone, 1, is::force_holders},
        {"start", shape::session_alone, 1, is::start},
        {"heartbeat", shape::session_alone, 6, is::heartbeat},
        {"take_over", shape::session_alone, 1, is::take_over},
        {"end", shape::session_alone, 1, is::end},
        {"list of sessions", shape::everything, 0, is::list_sessions},
        {"is silent", shape::session_alone, 4, is::is_silent},
        {"term passes", shape::key_alone, 1, is::term_passes},
        {"time passes", shape::everything, 2, is::time_passes},
        {"free_locks_of_the_dead", shape::everything, 1, is::free_locks_of_the_dead},
        {"remove_dead", shape::everything, 1, is::remove_dead},
        {"remove_dead_waiters", shape::everything, 1, is::remove_dead_waiters},
        {"remove_sessions", shape::everything, 1, is::remove_sessions},
        {"remove_idle_locks", shape::everything, 1, is::remove_idle_locks},
    };
    return all;
}

}  // namespace leasehold::testing
