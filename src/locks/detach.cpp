#include "leasehold/detach.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/handle_maker.hpp"
#include "core/number_in.hpp"
#include "locks/acquire.hpp"
#include "locks/hold_store.hpp"
#include "locks/lease.hpp"

namespace leasehold {
namespace {

// "leasehold1 TOKEN OWNER SESSION KEY", the session `-` if there is none; the key may have
// spaces of its own.
constexpr std::string_view first_word = "leasehold1";
constexpr std::string_view no_session = "-";

[[noreturn]] void refuse_text() {
    throw error(errc::invalid_argument, "this is not the text of a detached lease; see detach.hpp");
}

std::string_view next_word(std::string_view& text) {
    const auto end = text.find(' ');
    if (end == std::string_view::npos) refuse_text();
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end + 1);
    return word;
}

// A refusal must come before anything is given up.
void require_detachable(const lease& held) {
    if (held.why_lost() != loss_reason::none) {
        throw error(
            errc::lease_lost,
            "the lease on '" + held.key().name() + "' is held no more (" +
                name_of(held.why_lost()) + "): there is nothing to detach"
        );
    }
    if (held.inner()->what().kind != lock_kind::mutex) {
        throw error(
            errc::invalid_argument,
            "'" + held.key().name() + "' is held as a " + name_of(held.inner()->what().kind) +
                ": only the lease of a mutex can be detached"
        );
    }
    if (held.inner()->levels() == 1) return;
    throw error(
        errc::invalid_argument,
        "'" + held.key().name() + "' is held at more than one level: release the inner ones first"
    );
}

// Refuses the session that the hold was detached in: the row would stay as it is, so that everybody
// who has the value could still adopt the hold.
void require_from_elsewhere(const session::implementation& within, const detached_lease& what) {
    if (what.session != within.id()) return;
    throw error(
        errc::invalid_argument,
        "the hold of '" + what.key.name() +
            "' was detached in this very session and lives with it: adopt it in another one, which "
            "makes the value worthless for everybody else"
    );
}

adopt_status ask_to_adopt(session::implementation& within, const adoption& wanted) {
    return within.database().ask(bounds{}, &hold_store::adopt, wanted);
}

// Looks for a hold that was adopted a moment ago, and is watched. If it lived with this session
// before, a lease of it may have been released since, or detached and adopted elsewhere.
bool is_there_still(session::implementation& within, const adoption& wanted, const grant& adopted) {
    bool is_there = false;
    try {
        is_there = ask_to_adopt(within, wanted) == adopt_status::adopted;
    } catch (const error&) {
        within.forget(adopted);
        throw;
    }
    if (!is_there) within.forget(adopted);
    return is_there;
}

}  // namespace

std::string detached_lease::text() const {
    return std::string(first_word) + ' ' + std::to_string(token.number) + ' ' + owner.text() + ' ' +
           (session ? session->text() : std::string(no_session)) + ' ' + key.name();
}

detached_lease detached_lease::from_text(std::string_view text) {
    if (next_word(text) != first_word) refuse_text();
    const auto number = number_in<std::int64_t>(next_word(text));
    if (!number || *number < 1) refuse_text();
    const auto owner = owner_id::from_text(next_word(text));
    const std::string_view lives_with = next_word(text);
    std::optional<session_id> session;
    if (lives_with != no_session) session = session_id::from_text(lives_with);
    return {leasehold::key{text}, owner, {*number}, session};
}

detached_lease detach(lease&& held) {
    require_detachable(held);
    auto& inside = *held.inner();
    // Keeps the session, with this hold in it, from being detached meanwhile.
    const session::implementation::under_way leaving{inside.within()};
    require_detachable(held);
    const hold what = inside.what();
    const auto lives_with = inside.has_term() ? std::nullopt : std::optional{inside.within().id()};
    // The order matters: a session that ends in between would otherwise take the row with it.
    inside.within().keep_row();
    inside.supersede();
    return {what.key, what.owner, what.token, lives_with};
}

detached_lease detach_for(lease&& held, std::chrono::microseconds term) {
    require_valid_term(term, "the term of a detached lease");
    require_detachable(held);
    auto& inside = *held.inner();
    if (inside.has_term()) {
        throw error(
            errc::invalid_argument,
            "'" + held.key().name() + "' is held for a fixed term already: detach() keeps that"
        );
    }
    const session::implementation::under_way sending{inside.within()};
    require_detachable(held);
    const hold what = inside.what();
    inside.supersede();  // the lease must be lost here before the term is given away
    try {
        const bool is_given =
            inside.within().database().ask(bounds{}, &hold_store::give_term, what, term);
        if (is_given) return {what.key, what.owner, what.token, std::nullopt};
    } catch (const error&) {
        inside.within().settle_later(what.key, what.owner);
        throw;
    }
    throw error(
        errc::lease_lost,
        "the lease on '" + what.key.name() + "' is lost (" + name_of(loss_reason::taken_over) +
            "): there is nothing to detach"
    );
}

acquisition adopt(session& into, const detached_lease& what) {
    return adopt_into(into.inner(), what);
}

acquisition adopt_into(
    const std::shared_ptr<session::implementation>& into, const detached_lease& what
) {
    auto& within = *into;
    const auto began = local_clock::now();
    require_from_elsewhere(within, what);
    const session::implementation::under_way sending{within};
    const adoption wanted{
        {what.key, what.owner, what.token}, what.session, within.id(), within.node_info()};
    const auto nothing = [&] { return acquisition{std::nullopt, what.key}; };
    constexpr int max_attempts = 3;
    bool may_have_moved = false;
    for (int attempt = 1;; ++attempt) {
        try {
            within.require_live();
            const auto answer = ask_to_adopt(within, wanted);
            may_have_moved = may_have_moved || answer == adopt_status::adopted;
            if (answer == adopt_status::gone) return nothing();
            if (answer == adopt_status::session_ended) {
                within.found_ended();
            }
            auto granted = std::make_shared<grant>(wanted.hold, std::nullopt);
            // Makes a heartbeat look for notices at once: a request to let go stays with a hold
            // that moves.
            constexpr std::int64_t not_known = -1;
            if (!within.watch_alone(granted, not_known)) return nothing();
            if (!is_there_still(within, wanted, *granted)) return nothing();
            tell_granted(within, *granted, {event_reason::adopted, began});
            return acquisition{handle_maker::share<lease>(into, std::move(granted))};
        } catch (const error& failure) {
            may_have_moved = may_have_moved || failure.outcome_is_unknown();
            // The hold may live with this session now, and nobody here knows.
            if (may_have_moved) within.keep_row();
            // Asking again is harmless: the request names the session that the hold goes to.
            if (failure.is_transient() && attempt < max_attempts) continue;
            if (!may_have_moved || failure.outcome_is_unknown()) throw;
            throw reworded(failure, failure.what(), true);
        }
    }
}

}  // namespace leasehold
