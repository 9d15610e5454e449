#include "locks/holding.hpp"

#include <algorithm>

#include "database/taking_part.hpp"
#include "leasehold/error.hpp"
#include "locks/acquire.hpp"
#include "locks/hold_store.hpp"
#include "locks/keep_asking.hpp"

namespace leasehold {
namespace {

// For a release that answers not_held after an attempt that got no answer. That attempt released
// the hold if the fences are still ours; if a fence moved on, somebody may have taken the key
// before that attempt arrived.
release_outcome after_lost_answer(connection& on, store_set& stores, std::span<const hold> all) {
    const bool are_untouched = std::ranges::all_of(all, [&](const hold& each) {
        if (each.kind != lock_kind::mutex) return false;  // its row is gone
        const auto now = stores.get<hold_store>().describe(on, each.key, false);
        return now && now->info.token == each.token;
    });
    return are_untouched ? release_outcome::released : release_outcome::unknown;
}

}  // namespace

local_clock::time_point holding::deadline() const noexcept {
    if (is_released_) return local_clock::time_point{};
    if (!session_->is_at_home()) return session_->deadline();
    if (has_term()) return *first_->term_end();
    const auto limit = first_->limited();
    return limit ? std::min(limit->told, session_->deadline()) : session_->deadline();
}

// Compares the clock as well: the thread that watches the end may not have run yet.
bool holding::held_locally() const noexcept {
    return reason() == loss_reason::none && local_clock::now() < deadline();
}

void holding::lose(grant& which, loss_reason why) {
    const hold& what = which.what();
    session_->forget(which);
    session_->gave_up(what.key, what.owner, what.kind);
    if (!which.lose(why)) return;
    session_->database().tell(loss_of(which, why));
}

void holding::require_part(connection& inside) const {
    if (!session_->is_at_home()) {
        refuse("'" + first_->what().key.name() + "'", loss_reason::other_process);
    }
    require_transaction(inside, "verify_in");
    require_database(inside, session_->database(), "verify_in");
}

void holding::refuse(const std::string& label, loss_reason why) const {
    if (session_->is_at_home()) tell_stale(first_->what(), why, name_of(why));
    const std::string how = why == loss_reason::released
                                ? " was released"
                                : std::string(" is lost (") + name_of(why) + ")";
    throw error(errc::lease_lost, "the lease on " + label + how + ": roll back and write nothing");
}

void holding::tell_stale(const hold& what, loss_reason why, std::string detail) const {
    session_->database().tell(
        {event_kind::stale_token_refused,
         what.key.name(),
         what.token.number,
         detail,
         reason_of(why)}
    );
}

void holding::note_proof(connection& inside) {
    session_->database().open_transactions().note_proof(inside, first_->what().owner);
}

// Another thread may be about to commit: a caller that asks for an answer waits for that.
open_transactions::obstacle holding::own_transaction(bool is_parting) const {
    return {first_->what().owner, !is_parting};
}

bool holding::is_behind_open_transaction(bool is_parting) const {
    return session_->database().open_transactions().has(own_transaction(is_parting));
}

bool holding::leave_to_open_transaction(std::span<const hold> all, bool is_parting) {
    const hold& first = all.front();
    const auto give_back = [of = std::weak_ptr{session_},
                            held = std::vector(all.begin(), all.end())] {
        const auto alive = of.lock();
        if (!alive || !alive->is_at_home()) return;
        for (const hold& each : held) alive->give_back_later(each.key, each.owner, each.kind);
    };
    auto& database = session_->database();
    if (!database.open_transactions().run_behind(own_transaction(is_parting), give_back)) {
        return false;
    }
    session_->keep_row();  // until then it lives with that
    const std::string whose =
        database.which() == engine::sqlite
            ? "a transaction that this process itself has open keeps the database locked"
            : "the transaction in which this process itself has proved it is still open, and keeps "
              "its row locked";
    database.tell(
        {event_kind::release_failed,
         first.key.name(),
         first.token.number,
         whose + ": it is released when that ends; commit before the lease goes"}
    );
    return true;
}

// This process never counts on a longer term than the database may know: it takes over a shorter
// term before the statement is sent, and a longer one when the statement is answered.
bool holding::extend_term(grant& which, std::chrono::microseconds term) {
    if (!session_->is_at_home()) return false;
    const hold& what = which.what();
    if (!has_term()) {
        throw error(
            errc::invalid_argument,
            "'" + what.key.name() +
                "' is held for as long as its session lives, and has no term to extend"
        );
    }
    const session::implementation::under_way sending{*session_};
    const bounds of_call = bounds_of_release(false);  // a fixed term outlives its session
    const auto send_once = [&](int) {
        const auto end = local_clock::now() + term - margin_of(*session_, term);
        if (!session_->change_term(which, std::min(end, *which.term_end()))) return false;
        const bool is_extended =
            session_->database().ask(of_call, &hold_store::extend_term, what, term);
        if (is_extended && session_->change_term(which, end)) return true;
        if (!is_extended) {
            lose(which, loss_reason::taken_over);
        } else if (which.reason() == loss_reason::expired) {
            // The term ran out here before the answer came: without a release the row would keep
            // others out although nobody holds it.
            session_->give_back_later(what.key, what.owner, what.kind);
        }
        return false;
    };
    if (reason() != loss_reason::none) return false;
    return repeat(send_once, [&](const error&) { return !of_call.have_passed(); });
}

bounds holding::bounds_of_release(bool is_parting) const {
    bounds of_call = is_parting ? session_->parting() : session_->one_request();
    of_call.over = {};  // a fixed term outlives its session
    return of_call;
}

release_outcome holding::release_all(
    const bounds& of_call,
    std::span<const hold> all,
    const releaser& send,
    const std::vector<hold>& freed
) {
    bool is_unknown = false;
    const auto may_go_on = [&](const error& failure) {
        is_unknown = is_unknown || failure.outcome_is_unknown();
        return of_call.is_parting ? session_->may_part_again(of_call) : !of_call.have_passed();
    };
    const auto send_once = [&](int attempt) {
        // A failed attempt may have released some of several holds, whatever the failure was.
        const bool is_in_doubt = all.size() > 1 ? attempt > 1 : is_unknown;
        const auto outcome = send();
        if (outcome != release_outcome::not_held || !is_in_doubt) return outcome;
        return session_->database().use(of_call, [&](connection& on, store_set& stores) {
            return after_lost_answer(on, stores, all);
        });
    };
    try {
        const auto outcome = repeat(send_once, may_go_on);
        for (const hold& each : all) session_->gave_up(each.key, each.owner, each.kind);
        for (const hold& each : all) {
            const bool is_freed = std::ranges::find(freed, each) != freed.end();
            tell_end(each, is_freed ? release_outcome::released : outcome);
        }
        return outcome;
    } catch (const error&) {
        // No owner is left that could release it again.
        for (const hold& each : all) session_->settle_later(each.key, each.owner, each.kind);
        if (is_unknown) return release_outcome::unknown;
        throw;
    }
}

void holding::tell_end(const hold& what, release_outcome outcome) const {
    const auto tell = [&](event_kind kind, event_reason why) {
        const auto took = first_->age();
        session_->database().tell({kind, what.key.name(), what.token.number, "", why, took});
    };
    switch (outcome) {
        case release_outcome::released:
        case release_outcome::still_held:  // other levels hold it
            return tell(event_kind::released, event_reason::released);
        case release_outcome::not_held:
            return tell(event_kind::stale_token_refused, event_reason::taken_over);
        case release_outcome::unknown:
            break;
    }
    // The hold is no longer ours, and it stays unknown since when.
    tell(event_kind::outcome_unknown, event_reason::none);
    tell(event_kind::doubt_settled, event_reason::given_up);
}

void holding::release_quietly() noexcept {
    if (!session_->is_at_home()) return;
    const hold& what = first_->what();
    try {
        give_back(true);
    } catch (const std::exception& failure) {
        session_->database().tell(
            {event_kind::release_failed, what.key.name(), what.token.number, failure.what()}
        );
    }
}

}  // namespace leasehold
