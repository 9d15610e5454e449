#include "locks/pending_lease.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/handle_maker.hpp"
#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "database/taking_part.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "locks/heard_of.hpp"
#include "locks/hold_store.hpp"
#include "locks/lease.hpp"
#include "session/release.hpp"

namespace leasehold {
namespace {

// The longest time that a mere lock of the row lasts: as long as a statement takes on a busy
// server.
constexpr std::chrono::seconds moves_last{2};

void require_part(session::implementation& within, connection& inside) {
    constexpr std::string_view what = "try_acquire_in";
    if (!within.has_begun() && within.is_live()) {
        throw error(
            errc::wrong_transaction,
            "try_acquire_in needs a session that has begun, and this one begins with its first "
            "grant: leave begins_with_grant off"
        );
    }
    within.require_live();
    require_transaction(inside, what);
    require_database(inside, within.database(), what);
}

}  // namespace

pending_lease::implementation::implementation(
    std::shared_ptr<session::implementation> within,
    std::shared_ptr<grant> granted,
    owner_id moved,
    bool is_inside,
    listener on_confirmed
)
    : session_(std::move(within)),
      granted_(std::move(granted)),
      moved_(moved),
      is_inside_(is_inside),
      on_confirmed_(std::move(on_confirmed)),
      is_open_(*session_) {}

pending_lease::implementation::~implementation() {
    if (is_settled_ || !session_->is_at_home()) return;
    session_->settle_pending(granted().key, granted().owner, moved_);
}

// The release waits for a transaction that is open, and then finds what it left. So if the
// release found nothing, one more look is the last word.
pending_lease::implementation::fate pending_lease::implementation::ask(const bounds& of_call
) const {
    const hold& held = granted();
    return session_->database().use(of_call, [&](connection& on, store_set& stores) {
        if (stores.get<hold_store>().find_grant(on, held.key, moved_)) return fate::committed;
        const auto undone = release_owner(session_->database(), on, stores, held.key, held.owner);
        if (undone == release_outcome::released) return fate::undone;
        const bool is_there = stores.get<hold_store>().find_grant(on, held.key, moved_).has_value();
        if (is_there) return fate::committed;
        return is_inside_ && !was_ever_granted(on, stores) ? fate::undone : fate::lost;
    });
}

// A grant that was made inside leaves nothing behind if its transaction was rolled back, not even
// its token.
bool pending_lease::implementation::was_ever_granted(connection& on, store_set& stores) const {
    const auto now = stores.get<hold_store>().describe(on, granted().key, false);
    return now && now->info.token >= granted().token;
}

acquisition pending_lease::implementation::confirm() {
    const auto nothing = [&] { return acquisition{std::nullopt, granted().key}; };
    if (is_settled_) return nothing();
    session_->require_at_home();
    const auto notices = session_->notices();
    const hold& held = granted();
    fate found{};
    const auto deadline = local_clock::now() + session_->database().settings().pool_timeout;
    const bounds of_call{deadline, {}, {}};  // a fixed term outlives its session
    constexpr int max_attempts = 3;
    for (int attempt = 1;; ++attempt) {
        try {
            found = ask(of_call);
            break;
        } catch (const error& failure) {
            if (failure.connection_is_lost() && attempt < max_attempts) continue;
            throw reworded(
                failure,
                "it is not known yet whether '" + held.key.name() + "' was acquired: " +
                    failure.what() + "; end the transaction if it is open, and confirm again",
                failure.outcome_is_unknown()
            );
        }
    }
    is_settled_ = true;
    session_->gave_up(held.key, held.owner);
    if (found == fate::undone) {
        session_->database().tell(
            {event_kind::released,
             held.key.name(),
             held.token.number,
             "its transaction was rolled back",
             event_reason::rolled_back,
             granted_->age()}
        );
    }
    if (found == fate::lost) {
        session_->database().tell(loss_of(*granted_, loss_reason::taken_over));
    }
    if (found != fate::committed) return nothing();
    auto confirmed =
        std::make_shared<grant>(hold{held.key, moved_, held.token}, granted_->term_end());
    session_->watch(confirmed, notices);  // which loses it if the session is lost
    if (!confirmed->is_live()) return nothing();
    if (on_confirmed_) on_confirmed_(confirmed);
    return acquisition{handle_maker::share<lease>(session_, std::move(confirmed))};
}

// ------------------------------------------------------------------------------------ the try

pending_acquisition try_once_in(
    const std::shared_ptr<session::implementation>& within,
    const wish& what,
    connection& inside,
    pending_lease::implementation::listener on_confirmed
) {
    // Holds until the pending lease takes over: an end() in between must find the grant.
    const session::implementation::under_way sending{*within};
    require_part(*within, inside);
    auto& database = within->database();
    store_set& of_caller = database.store_for(inside);
    const pending_entry entered = of_caller.get<hold_store>().enter(inside);
    if (entered == pending_entry::busy) {
        database.tell(
            {event_kind::refused, what.key.name(), 0, "another writer", event_reason::busy}
        );
        return pending_acquisition{std::nullopt, what.key};
    }
    const bool is_inside = entered == pending_entry::inside;
    const bounds of_call = within->one_request();
    try_outcome outcome = try_once(*within, what, of_call, [&](const acquire_request& request) {
        if (is_inside) return ask_for(inside, of_caller, request);
        return database.use_beside(of_call, [&](connection& on, store_set& stores) {
            return ask_for(on, stores, request);
        });
    });
    if (!outcome.granted) return pending_acquisition{std::move(outcome.holder), what.key};
    // There is no lease of it yet: the session watches the grant once it is confirmed.
    within->forget(*outcome.granted);
    const hold held = outcome.granted->what();
    auto made = std::make_unique<pending_lease::implementation>(
        within, std::move(outcome.granted), owner_id::random(), is_inside, std::move(on_confirmed)
    );
    const auto until = local_clock::now() + moves_last;
    for (int attempt = 1; attempt == 1 || local_clock::now() < until; ++attempt) {
        if (of_caller.get<hold_store>().move(inside, held, made->moved())) {
            return pending_acquisition{handle_maker::made<pending_lease>(std::move(made))};
        }
        const bool is_there = database.use_beside(of_call, [&](connection& on, store_set& stores) {
            return stores.get<hold_store>().find_grant(on, held.key, held.owner).has_value();
        });
        if (!is_there) return pending_acquisition{std::nullopt, what.key};  // freed by force
        pause_for(jittered(std::chrono::milliseconds{std::min(attempt * attempt, 100)}));
    }
    if (database.has_several_writers()) throw not_heard_of(moves_last);
    throw error(
        errc::wrong_transaction,
        "the transaction given to try_acquire_in does not see the grant of '" + what.key.name() +
            "': it is in another database than the session"
    );
}

// ----------------------------------------------------------------------------------- the handle

pending_lease::pending_lease(std::unique_ptr<implementation> made) noexcept
    : inner_(std::move(made)) {}
pending_lease::pending_lease(pending_lease&&) noexcept = default;
pending_lease& pending_lease::operator=(pending_lease&&) noexcept = default;
pending_lease::~pending_lease() = default;

const key& pending_lease::key() const& {
    return inner_->granted().key;
}
fencing_token pending_lease::token() const {
    return inner_->granted().token;
}
const owner_id& pending_lease::owner() const& {
    return inner_->moved();
}
acquisition pending_lease::confirm() {
    return inner_ ? inner_->confirm() : acquisition{refused_try{}};
}

}  // namespace leasehold
