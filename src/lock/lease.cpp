#include "lock/lease.hpp"

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

// How often a release whose answer was lost is asked again. Asking twice is harmless: it names the
// owner and the token.
constexpr int release_attempts_max = 3;

std::string label(const hold& what) {
    return "the lease on '" + what.key.name() + "' (token " + std::to_string(what.token.number) + ")";
}

}  // namespace

lease::implementation::implementation(
    std::shared_ptr<session::implementation> within, std::shared_ptr<grant> granted
)
    : session_(std::move(within)),
      grant_(std::move(granted)),
      chain_(grant_->lost(), pass_on{&given_back_}) {}

loss_reason lease::implementation::reason() const noexcept {
    return is_released_ ? loss_reason::released : grant_->reason();
}

local_clock::time_point lease::implementation::deadline() const noexcept {
    return grant_->term_end() ? *grant_->term_end() : session_->deadline();
}

// Asks the clock as well: the thread that watches it may not have been scheduled yet.
bool lease::implementation::held_locally() const noexcept {
    return reason() == loss_reason::none && local_clock::now() < deadline();
}

void lease::implementation::lose(loss_reason why) {
    session_->forget(*grant_);
    if (grant_->lose(why)) {
        session_->inner().tell(
            {event_kind::lost, what().key.name(), what().token.number, name_of(why)}
        );
    }
}

bool lease::implementation::verify() {
    if (reason() != loss_reason::none) return false;
    const bool held = session_->inner().use([&](connection& on, store& stores) {
        return stores.locks->which_are_held(on, {what()}).at(0);
    });
    if (!held) lose(loss_reason::taken_over);
    return held && held_locally();
}

void lease::implementation::verify_in(connection& inside) {
    if (inside.state() != connection_state::in_transaction) {
        throw error(
            errc::wrong_transaction,
            "verify_in needs a transaction that is open and has not failed: begin one, write, "
            "verify, commit"
        );
    }
    const engine ours = session_->inner().which();
    if (inside.server().engine != ours) {
        throw error(
            errc::wrong_transaction,
            "verify_in got a transaction of " + std::string(name_of(inside.server().engine)) +
                " for a lease on " + std::string(name_of(ours)) + "; use the same database"
        );
    }
    const auto refuse = [&](loss_reason why) {
        session_->inner().tell(
            {event_kind::stale_token_refused, what().key.name(), what().token.number, name_of(why)}
        );
        throw error(
            errc::lease_lost,
            label(what()) + " is lost (" + name_of(why) + "): roll back and write nothing"
        );
    };
    if (reason() != loss_reason::none) refuse(reason());
    if (!session_->inner().store_for(inside).locks->prove(inside, what())) {
        lose(loss_reason::taken_over);
        refuse(loss_reason::taken_over);
    }
}

release_outcome lease::implementation::release() {
    if (is_released_.exchange(true)) return release_outcome::not_held;
    const std::lock_guard guard{grant_->depth().mutex};
    const bool is_last = --grant_->depth().count == 0;
    const auto outcome = is_last ? release_last() : release_level();
    given_back_.request_stop();
    return outcome;
}

// One level of several. Not asked again when the answer is lost, because taking two levels off is
// not harmless; the last level then frees whatever count the row has.
release_outcome lease::implementation::release_level() {
    try {
        const auto outcome = session_->inner().use([&](connection& on, store& stores) {
            return stores.locks->release(on, what());
        });
        if (outcome == release_outcome::not_held) lose(loss_reason::taken_over);
        return outcome;
    } catch (const error& failure) {
        grant_->depth().is_uncertain = true;
        if (failure.outcome_is_unknown()) return release_outcome::unknown;
        throw;
    }
}

release_outcome lease::implementation::release_last() {
    session_->forget(*grant_);
    const bool was_live = grant_->lose(loss_reason::released);
    const bool by_owner = grant_->depth().is_uncertain;
    auto& database = session_->inner();
    bool was_in_doubt = false;
    for (int attempt = 1;; ++attempt) {
        try {
            const auto outcome = database.use([&](connection& on, store& stores) {
                lock_store& locks = *stores.locks;
                return by_owner ? locks.release_owner(on, what().key, what().owner)
                                : locks.release(on, what());
            });
            const bool is_stale = outcome == release_outcome::not_held && !was_in_doubt;
            const auto kind = is_stale ? event_kind::stale_token_refused : event_kind::released;
            database.tell({kind, what().key.name(), what().token.number, ""});
            // Not ours after an attempt that got no answer: that attempt did it.
            return is_stale || !was_live ? outcome : release_outcome::released;
        } catch (const error& failure) {
            was_in_doubt = was_in_doubt || failure.outcome_is_unknown();
            if (failure.is_transient() && attempt < release_attempts_max) continue;
            if (!failure.is_transient() && !was_in_doubt) throw;
            session_->settle_later(what().key, what().owner);
            if (was_in_doubt) return release_outcome::unknown;
            throw;
        }
    }
}

void lease::implementation::release_quietly() noexcept {
    try {
        release();
    } catch (const std::exception& failure) {
        session_->inner().tell(
            {event_kind::release_failed, what().key.name(), what().token.number, failure.what()}
        );
    }
}

// ----------------------------------------------------------------------------------- the handle

lease::lease(std::shared_ptr<implementation> held) noexcept : held_(std::move(held)) {}
lease::lease(lease&&) noexcept = default;
lease& lease::operator=(lease&& other) noexcept {
    if (this != &other) {
        if (held_) held_->release_quietly();
        held_ = std::move(other.held_);
    }
    return *this;
}
lease::~lease() {
    if (held_) held_->release_quietly();
}

const key& lease::key() const noexcept { return held_->what().key; }
fencing_token lease::token() const noexcept { return held_->what().token; }
const owner_id& lease::owner() const noexcept { return held_->what().owner; }
std::stop_token lease::lost() const noexcept { return held_->lost(); }
loss_reason lease::why_lost() const noexcept { return held_->reason(); }
bool lease::held_locally() const noexcept { return held_->held_locally(); }
local_clock::time_point lease::deadline() const noexcept { return held_->deadline(); }
bool lease::verify() { return held_->verify(); }
void lease::verify_in(transaction_ref tx) { held_->verify_in(tx.inside()); }
release_outcome lease::release() { return held_->release(); }

}  // namespace leasehold
