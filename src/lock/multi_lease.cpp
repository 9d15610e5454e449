#include "lock/multi_lease.hpp"

#include <algorithm>
#include <utility>

#include "leasehold/error.hpp"
#include "lock/lease.hpp"
#include "session/pass_on.hpp"
#include "session/taking_part.hpp"
#include "store/lock_store.hpp"
#include "store/multi_lock_store.hpp"

namespace leasehold {

std::string label_of(const std::vector<key>& keys) {
    std::string text = "'" + keys.front().name() + "'";
    if (keys.size() > 1) text += " and " + std::to_string(keys.size() - 1) + " more";
    return text;
}

multi_lease::implementation::implementation(
    std::shared_ptr<session::implementation> within,
    std::vector<key> keys,
    std::vector<std::shared_ptr<grant>> grants
)
    : session_(std::move(within)), keys_(std::move(keys)), grants_(std::move(grants)) {
    for (const auto& each : grants_) {
        tokens_.push_back(each->what().token);
        chains_.push_back(std::unique_ptr<chain>(new chain{
            std::stop_callback<pass_loss_on>{each->lost(), pass_loss_on{this, each.get()}},
            std::stop_callback<pass_request_on>{
                each->revoke_requested(), pass_request_on{&revoke_}}}));
    }
}

void multi_lease::implementation::pass_loss_on::operator()() const {
    auto expected = loss_reason::none;
    to->reason_.compare_exchange_strong(expected, of->reason());
    std::stop_source lost = to->lost_;  // whoever is told may destroy the lease
    lost.request_stop();
}

loss_reason multi_lease::implementation::reason() const noexcept {
    return is_released_ ? loss_reason::released : reason_.load();
}

local_clock::time_point multi_lease::implementation::deadline() const noexcept {
    const auto& term_end = grants_.front()->term_end();
    return term_end ? *term_end : session_->deadline();
}

bool multi_lease::implementation::held_locally() const noexcept {
    return reason() == loss_reason::none && local_clock::now() < deadline();
}

bool multi_lease::implementation::verify() {
    if (reason() != loss_reason::none) return false;
    const auto found = session_->inner().use([&](connection& on, store& stores) {
        return stores.locks->standings(on, holds());
    });
    for (std::size_t at = 0; at < grants_.size(); ++at) {
        if (found[at] == standing::gone) lose(*grants_[at], loss_reason::taken_over);
    }
    return held_locally();
}

void multi_lease::implementation::verify_in(connection& inside) {
    require_transaction(inside, "verify_in");
    require_engine(inside, session_->inner().which(), "verify_in");
    if (reason() != loss_reason::none) refuse();
    store& stores = session_->inner().store_for(inside);
    if (stores.multi_locks->prove_all(inside, holds())) return;
    find_the_lost(stores, inside);
    refuse();
}

release_outcome multi_lease::implementation::release() {
    return give_back(false);
}

void multi_lease::implementation::settle_later() {
    for (const key& each : keys_) session_->settle_later(each, owner());
}

// Whoever parts does not wait for a server that is out, nor does anybody for what is lost: the
// session goes on with it.
release_outcome multi_lease::implementation::give_back(bool is_parting) {
    if (is_released_.exchange(true)) return release_outcome::not_held;
    const session::implementation::under_way sending{*session_};
    lost_.request_stop();  // before anybody else can be granted a key
    bool is_anything_left = false;
    for (const auto& each : grants_) {
        session_->forget(*each);
        // One that was taken over may be there all the same: see lease.cpp.
        is_anything_left = each->lose(loss_reason::released) ||
                           each->reason() == loss_reason::taken_over || is_anything_left;
    }
    const bool may_ask = !is_parting || session_->may_part();
    if (!is_anything_left || !may_ask) {
        const bool has_term = grants_.front()->term_end().has_value();
        if (is_anything_left || has_term) {
            for (const key& each : keys_) {
                session_->give_back_later(each, owner(), lock_kind::mutex);
            }
        }
        return is_anything_left ? release_outcome::unknown : release_outcome::not_held;
    }
    bounds of_call = is_parting ? session_->parting() : session_->one_request();
    of_call.over = {};  // a fixed term outlives its session
    bool is_unknown = false;
    for (int attempt = 1;; ++attempt) {
        try {
            const auto outcome = session_->inner().use(of_call, [&](connection& on, store& stores) {
                // An attempt that failed may have released some, whatever it failed of.
                return release_on(on, stores, attempt > 1);
            });
            for (const key& each : keys_) session_->gave_up(each, owner());
            return told(outcome);
        } catch (const error& failure) {
            is_unknown = is_unknown || failure.outcome_is_unknown();
            const bool is_in_vain =
                is_parting ? !session_->may_part_again(of_call) : of_call.have_passed();
            if (failure.is_transient() && attempt < release_attempts_max && !is_in_vain) continue;
            // Nobody has the lease any more that could release it again.
            settle_later();
            if (is_unknown) return release_outcome::unknown;
            throw;
        }
    }
}

void multi_lease::implementation::release_quietly() noexcept {
    try {
        give_back(true);
    } catch (const std::exception& failure) {
        session_->inner().tell(
            {event_kind::release_failed,
             keys_.front().name(),
             tokens_.front().number,
             failure.what()}
        );
    }
}

std::vector<hold> multi_lease::implementation::holds() const {
    std::vector<hold> all;
    all.reserve(grants_.size());
    for (const auto& each : grants_) all.push_back(each->what());
    return all;
}

void multi_lease::implementation::lose(grant& which, loss_reason why) {
    const hold& what = which.what();
    session_->forget(which);
    session_->gave_up(what.key, what.owner);
    if (!which.lose(why)) return;
    session_->inner().tell({event_kind::lost, what.key.name(), what.token.number, name_of(why)});
}

// In the caller's transaction, so that the answer is of the same moment as the proof.
void multi_lease::implementation::find_the_lost(store& stores, connection& inside) {
    for (const auto& each : grants_) {
        if (!stores.locks->prove(inside, each->what())) lose(*each, loss_reason::taken_over);
    }
    // All are there now, but were not when all were asked for: an old snapshot.
    if (reason() == loss_reason::none) lose(*grants_.front(), loss_reason::taken_over);
}

void multi_lease::implementation::refuse() {
    session_->inner().tell(
        {event_kind::stale_token_refused,
         keys_.front().name(),
         tokens_.front().number,
         name_of(reason())}
    );
    throw error(
        errc::lease_lost,
        "the lease on " + label_of(keys_) + " is lost (" + name_of(reason()) +
            "): roll back and write nothing"
    );
}

release_outcome multi_lease::implementation::release_on(
    connection& on, store& stores, bool was_in_doubt
) {
    const auto held = holds();
    if (release_holds(session_->inner(), on, stores, held)) return release_outcome::released;
    if (!was_in_doubt) return release_outcome::not_held;
    // The attempt that got no answer did it where the fences are still ours; where one moved on,
    // somebody may have taken the key before that attempt arrived.
    for (const hold& each : held) {
        const auto now = stores.locks->describe(on, each.key);
        if (!now || now->token != each.token) return release_outcome::unknown;
    }
    return release_outcome::released;
}

release_outcome multi_lease::implementation::told(release_outcome outcome) {
    const event_kind kind = outcome == release_outcome::released   ? event_kind::released
                            : outcome == release_outcome::not_held ? event_kind::stale_token_refused
                                                                   : event_kind::outcome_unknown;
    for (std::size_t at = 0; at < keys_.size(); ++at) {
        session_->inner().tell({kind, keys_[at].name(), tokens_[at].number, ""});
    }
    return outcome;
}

// ----------------------------------------------------------------------------------- the handle

multi_lease::multi_lease(std::shared_ptr<implementation> held) noexcept : held_(std::move(held)) {}
multi_lease::multi_lease(multi_lease&&) noexcept = default;
multi_lease& multi_lease::operator=(multi_lease&& other) noexcept {
    if (this != &other) {
        if (held_) held_->release_quietly();
        held_ = std::move(other.held_);
    }
    return *this;
}
multi_lease::~multi_lease() {
    if (held_) held_->release_quietly();
}

const std::vector<key>& multi_lease::keys() const noexcept {
    return held_->keys();
}
const std::vector<fencing_token>& multi_lease::tokens() const noexcept {
    return held_->tokens();
}
fencing_token multi_lease::token(const key& of) const {
    const auto found = std::lower_bound(keys().begin(), keys().end(), of);
    if (found != keys().end() && *found == of) {
        return tokens()[static_cast<std::size_t>(found - keys().begin())];
    }
    throw error(errc::invalid_argument, "'" + of.name() + "' is not among the keys of this lease");
}
const owner_id& multi_lease::owner() const noexcept {
    return held_->owner();
}
std::stop_token multi_lease::lost() const noexcept {
    return held_->lost();
}
loss_reason multi_lease::why_lost() const noexcept {
    return held_->reason();
}
std::stop_token multi_lease::revoke_requested() const noexcept {
    return held_->revoke_requested();
}
bool multi_lease::held_locally() const noexcept {
    return held_->held_locally();
}
local_clock::time_point multi_lease::deadline() const noexcept {
    return held_->deadline();
}
// Each of these may tell of a loss, and whoever is told may destroy the lease.
bool multi_lease::verify() {
    const auto alive = held_;
    return alive->verify();
}
void multi_lease::verify_in(transaction_ref tx) {
    const auto alive = held_;
    alive->verify_in(tx.inside());
}
release_outcome multi_lease::release() {
    const auto alive = held_;
    return alive->release();
}

}  // namespace leasehold
