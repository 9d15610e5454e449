#include "locks/multi_lease.hpp"

#include <algorithm>
#include <utility>

#include "database/taking_part.hpp"
#include "leasehold/error.hpp"
#include "locks/acquire.hpp"
#include "locks/heard_of.hpp"
#include "locks/hold_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "session/release.hpp"

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
    : holding(std::move(within), grants.front()),
      keys_(std::move(keys)),
      grants_(std::move(grants)) {
    for (const auto& each : grants_) {
        tokens_.push_back(each->what().token);
        chains_.push_back(std::unique_ptr<chain>(new chain{
            std::stop_callback<pass_loss_on>{each->lost(), pass_loss_on{this, each.get()}},
            std::stop_callback<forward_stop>{each->revoke_requested(), forward_stop{&revoke_}}}));
    }
}

void multi_lease::implementation::pass_loss_on::operator()() const {
    auto expected = loss_reason::none;
    to->reason_.compare_exchange_strong(expected, of->reason());
    forward_stop{&to->given_back_}();
}

bool multi_lease::implementation::verify() {
    if (reason() != loss_reason::none) return false;
    const auto found = session_->database().ask(bounds{}, &hold_store::standings, holds());
    for (std::size_t at = 0; at < grants_.size(); ++at) {
        if (found[at] == standing::gone) lose(*grants_[at], loss_reason::taken_over);
    }
    return held_locally();
}

bool multi_lease::implementation::extend(std::chrono::microseconds term) {
    require_valid_term(term, "the term");
    require_unspent(label_of(keys_));
    return std::ranges::all_of(grants_, [&](const auto& each) { return extend_term(*each, term); });
}

// An extension that got no answer leaves the terms of the keys with different ends.
local_clock::time_point multi_lease::implementation::deadline() const noexcept {
    auto earliest = holding::deadline();
    for (const auto& each : grants_) {
        if (const auto end = each->term_end()) earliest = std::min(earliest, *end);
    }
    return earliest;
}

void multi_lease::implementation::verify_in(connection& inside) {
    require_part(inside);
    if (reason() != loss_reason::none) refuse(label_of(keys_), reason());
    store_set& stores = session_->database().store_for(inside);
    const auto are_there = [&](connection& on, store_set& own) {
        const auto found = own.get<hold_store>().standings(on, holds());
        return std::ranges::find(found, standing::gone) == found.end();
    };
    const auto prove = [&] { return stores.get<multi_lock_store>().prove_all(inside, holds()); };
    if (where_heard_of(session_->database(), prove, are_there)) return note_proof(inside);
    refuse_other_database(inside, session_->database(), "verify_in");
    find_the_lost(stores, inside);
    refuse(label_of(keys_), reason());
}

// A destructor does not wait for a server that is out, and nobody waits for lost holds: the session
// releases them later.
release_outcome multi_lease::implementation::give_back(bool is_parting) {
    if (is_released_.exchange(true)) return release_outcome::not_held;
    const session::implementation::under_way sending{*session_};
    given_back_.request_stop();  // before anybody else can be granted a key
    // If the session was detached, the remaining holds are another process's.
    std::vector<hold> held;
    for (const auto& each : grants_) {
        session_->forget(*each);
        // A hold that was taken over may be there all the same: see lease.cpp.
        const bool may_be_there =
            each->lose(loss_reason::released) || each->reason() == loss_reason::taken_over;
        if (may_be_there) held.push_back(each->what());
        // The database may know of a later end than this process: of an extension that got no
        // answer.
        const bool has_expired = has_term() && each->reason() == loss_reason::expired;
        if (has_expired) session_->give_back_later(each->what().key, owner(), lock_kind::mutex);
        if (!may_be_there) tell_stale(each->what(), each->reason());
    }
    if (held.empty() || !may_ask(is_parting)) {
        for (const hold& each : held) {
            session_->give_back_later(each.key, owner(), lock_kind::mutex);
        }
        return held.empty() ? release_outcome::not_held : release_outcome::unknown;
    }
    if (leave_to_open_transaction(held, is_parting)) return release_outcome::unknown;
    const bounds of_call = bounds_of_release(is_parting);
    std::vector<hold> freed;
    const auto send = [&] {
        return session_->database().use(of_call, [&](connection& on, store_set& stores) {
            freed = release_holds(session_->database(), on, stores, held);
            const bool were_ours = freed.size() == held.size();
            return were_ours ? release_outcome::released : release_outcome::not_held;
        });
    };
    const auto outcome = release_all(of_call, held, send, freed);
    const bool was_partly_lost = held.size() < grants_.size();
    if (outcome == release_outcome::released && was_partly_lost) return release_outcome::not_held;
    return outcome;
}

std::vector<hold> multi_lease::implementation::holds() const {
    std::vector<hold> all;
    all.reserve(grants_.size());
    for (const auto& each : grants_) all.push_back(each->what());
    return all;
}

// Asks in the caller's transaction, so that the answer is of the same moment as the proof.
void multi_lease::implementation::find_the_lost(store_set& stores, connection& inside) {
    for (const auto& each : grants_) {
        if (!stores.get<hold_store>().prove(inside, each->what()))
            lose(*each, loss_reason::taken_over);
    }
    // All holds exist now, but some did not in the proof's snapshot, which was older.
    if (reason() == loss_reason::none) lose(*grants_.front(), loss_reason::taken_over);
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

const std::vector<key>& multi_lease::keys() const& {
    return held_->keys();
}
const std::vector<fencing_token>& multi_lease::tokens() const& {
    return held_->tokens();
}
fencing_token multi_lease::token(const key& of) const {
    const auto found = std::lower_bound(keys().begin(), keys().end(), of);
    if (found != keys().end() && *found == of) {
        return tokens()[static_cast<std::size_t>(found - keys().begin())];
    }
    throw error(errc::invalid_argument, "'" + of.name() + "' is not among the keys of this lease");
}
const owner_id& multi_lease::owner() const& {
    return held_->owner();
}
std::stop_token multi_lease::lost() const& {
    return held_ ? held_->lost() : stopped_token();
}
loss_reason multi_lease::why_lost() const {
    return held_ ? held_->reason() : loss_reason::released;
}
std::stop_token multi_lease::revoke_requested() const& {
    return held_ ? held_->revoke_requested() : std::stop_token{};
}
bool multi_lease::held_locally() const& {
    return held_ && held_->held_locally();
}
local_clock::time_point multi_lease::deadline() const& {
    return held_ ? held_->deadline() : local_clock::time_point{};
}
// Each of these may tell of a loss, and a callback may destroy the lease.
bool multi_lease::extend(std::chrono::microseconds term) & {
    const auto alive = held_;
    return alive->extend(term);
}
bool multi_lease::verify() & {
    const auto alive = held_;
    return alive && alive->verify();
}
void multi_lease::verify_in(transaction_ref tx) & {
    const auto alive = held_;
    alive->verify_in(tx.inside());
}
release_outcome multi_lease::release() {
    const auto alive = held_;
    return alive ? alive->release() : release_outcome::not_held;
}

}  // namespace leasehold
