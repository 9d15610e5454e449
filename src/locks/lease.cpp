#include "locks/lease.hpp"

#include <algorithm>
#include <utility>

#include "core/handle_maker.hpp"
#include "core/process.hpp"
#include "database/taking_part.hpp"
#include "leasehold/error.hpp"
#include "locks/acquire.hpp"
#include "locks/heard_of.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/keep_asking.hpp"
#include "locks/not_granted.hpp"
#include "session/release.hpp"
#include "session/session_store.hpp"

namespace leasehold {
namespace {

// A grant that is being released stays watched until that is settled, so that nobody adopts the
// hold into the same session meanwhile: the release would end it.
class watched_to_its_end {
public:
    watched_to_its_end(session::implementation& within, const grant& ending LEASEHOLD_LIFETIMEBOUND)
        : within_(within), ending_(ending) {}
    ~watched_to_its_end() { within_.forget(ending_); }
    watched_to_its_end(const watched_to_its_end&) = delete;
    watched_to_its_end& operator=(const watched_to_its_end&) = delete;

private:
    session::implementation& within_;
    const grant& ending_;
};

}  // namespace

lease::implementation::implementation(
    std::shared_ptr<session::implementation> within, std::shared_ptr<grant> granted
)
    : holding(std::move(within), std::move(granted)),
      chain_(first_->lost(), forward_stop{&given_back_}) {}

bool lease::implementation::is_there(connection& on, store_set& stores) const {
    if (what().kind != lock_kind::mutex)
        return stores.get<holder_store>().which_are_held(on, {what()}).at(0);
    return stores.get<hold_store>().standings(on, {what()}).at(0) != standing::gone;
}

bool lease::implementation::verify() {
    if (reason() != loss_reason::none) return false;
    const bool held = session_->database().use([&](connection& on, store_set& stores) {
        return is_there(on, stores);
    });
    if (!held) lose(*first_, loss_reason::taken_over);
    return held && held_locally();
}

void lease::implementation::verify_in(connection& inside) {
    require_part(inside);
    const auto label = [&] {
        return "'" + what().key.name() + "' (token " + std::to_string(what().token.number) + ")";
    };
    if (reason() != loss_reason::none) refuse(label(), reason());
    database::implementation& database = session_->database();
    const auto prove = [&](auto& holds) { return holds.prove(inside, what()); };
    const bool is_proved = where_heard_of(
        database,
        [&] { return with_store_of(database.store_for(inside), what().kind, prove); },
        [&](connection& on, store_set& stores) { return is_there(on, stores); }
    );
    if (is_proved) return note_proof(inside);
    refuse_other_database(inside, database, "verify_in");
    lose(*first_, loss_reason::taken_over);
    refuse(label(), loss_reason::taken_over);
}

bool lease::implementation::extend(std::chrono::microseconds term) {
    require_valid_term(term, "the term");
    require_unspent("'" + what().key.name() + "'");
    return first_->limited() ? extend_limit(term) : extend_term(*first_, term);
}

// This process keeps the limit: it asks the database whether there is anything left to extend.
bool lease::implementation::extend_limit(std::chrono::microseconds term) {
    if (!verify()) return false;
    return session_->change_limit(*first_, limit_from(*session_, local_clock::now(), term));
}

// A destructor does not wait for a server that is out: the session does the release later.
release_outcome lease::implementation::give_back(bool is_parting) {
    if (is_released_.exchange(true)) return release_outcome::not_held;
    const session::implementation::under_way sending{*session_};
    // A hold that a proof or a question called lost may be there all the same: PostgreSQL refuses a
    // proof by a snapshot that is older than the grant.
    const loss_reason why = first_->reason();
    const bool was_lost = why != loss_reason::none && why != loss_reason::taken_over;
    given_back_.request_stop();  // before anybody else can be granted the key
    // A fixed term outlives its session, and can be given back after it has run out here.
    const bool is_for_later = is_parting && session_->is_live();
    if (was_lost && (!has_term() || is_for_later)) return give_back_lost();
    const bounds of_call = bounds_of_release(is_parting);
    bool is_last = false;
    release_outcome outcome{};
    {
        const thread_guard guard{first_->depth().mutex};
        is_last = --first_->depth().count == 0;
        if (is_last) {
            outcome = release_last(of_call);
        } else if (!may_ask(is_parting) || is_behind_open_transaction(is_parting)) {
            first_->depth().is_uncertain = true;  // the last one frees the row whatever its count
            outcome = release_outcome::unknown;
        } else {
            outcome = release_level(of_call);
        }
    }
    // Unlocked: a callback may release the other levels.
    if (!is_last && outcome == release_outcome::not_held) {
        lose(*first_, loss_reason::taken_over);
    }
    return outcome;
}

// There is nothing to give back: the session has expired, or will before anybody else is granted
// the key. Only a term that ran out here lives on in the database, for its margin and the key's
// lock_delay.
release_outcome lease::implementation::give_back_lost() {
    const bool is_there_still = has_term() || (first_->limited() && session_->is_live());
    if (is_there_still && first_->reason() == loss_reason::expired) {
        session_->give_back_later(what().key, what().owner, what().kind);
    }
    tell_stale(what(), first_->reason());
    return release_outcome::not_held;
}

// Releases one level of several. Not sent again when the answer is lost, because that could release
// two levels; the last level then frees the row whatever its count.
release_outcome lease::implementation::release_level(const bounds& of_call) {
    try {
        return session_->database().use(of_call, [&](connection& on, store_set& stores) {
            return release_hold(session_->database(), on, stores, what());
        });
    } catch (const error& failure) {
        first_->depth().is_uncertain = true;
        if (failure.outcome_is_unknown()) return release_outcome::unknown;
        throw;
    }
}

release_outcome lease::implementation::release_last(const bounds& of_call) {
    const watched_to_its_end ending{*session_, *first_};
    first_->lose(loss_reason::released);
    auto& database = session_->database();
    if (!may_ask(of_call.is_parting)) {
        session_->give_back_later(what().key, what().owner, what().kind);
        database.tell(
            {event_kind::release_failed,
             what().key.name(),
             what().token.number,
             "the database does not answer: the session releases it when it does"}
        );
        return release_outcome::unknown;
    }
    if (leave_to_open_transaction({&what(), 1}, of_call.is_parting)) {
        return release_outcome::unknown;
    }
    const bool is_count_certain = !first_->depth().is_uncertain;
    return release_all(of_call, {&what(), 1}, [&] {
        if (is_count_certain && session_->takes_row_along() && release_with_row(of_call)) {
            return release_outcome::released;
        }
        if (is_count_certain) return release_last_level(database, of_call, what());
        return database.use(of_call, [&](connection& on, store_set& stores) {
            return release_owner(database, on, stores, what().key, what().owner, what().kind);
        });
    });
}

// False, and nothing changed, if it is no longer held so, or somebody waits.
bool lease::implementation::release_with_row(const bounds& of_call) {
    const bool is_done =
        session_->database().ask(of_call, &session_store::end_with_release, session_->id(), what());
    if (is_done) session_->note_row_gone();
    return is_done;
}

void lease::implementation::supersede() noexcept {
    if (is_released_.exchange(true)) return;
    session_->forget(*first_);
    given_back_.request_stop();
    first_->lose(loss_reason::released);
}

int lease::implementation::levels() const {
    const thread_guard guard{first_->depth().mutex};
    return first_->depth().count;
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

const key& lease::key() const& {
    return held_->what().key;
}
fencing_token lease::token() const {
    return held_->what().token;
}
const owner_id& lease::owner() const& {
    return held_->what().owner;
}
std::stop_token lease::lost() const& {
    return held_ ? held_->lost() : stopped_token();
}
loss_reason lease::why_lost() const {
    return held_ ? held_->reason() : loss_reason::released;
}
std::stop_token lease::revoke_requested() const& {
    return held_ ? held_->revoke_requested() : std::stop_token{};
}
bool lease::held_locally() const& {
    return held_ && held_->held_locally();
}
local_clock::time_point lease::deadline() const& {
    return held_ ? held_->deadline() : local_clock::time_point{};
}
// Each of these may tell of a loss, and a callback may destroy the lease.
bool lease::verify() & {
    const auto alive = held_;
    return alive && alive->verify();
}
void lease::verify_in(transaction_ref tx) & {
    const auto alive = held_;
    alive->verify_in(tx.inside());
}
bool lease::extend(std::chrono::microseconds term) & {
    const auto alive = held_;
    return alive->extend(term);
}
release_outcome lease::release() {
    const auto alive = held_;
    return alive ? alive->release() : release_outcome::not_held;
}

struct refused_try::words {
    std::string wanted;
    std::optional<lock_info> holder;
};

refused_try::refused_try(std::optional<lock_info> holder, const std::string& wanted)
    : words_(std::make_shared<words>(words{wanted, std::move(holder)})) {}

const std::optional<lock_info>& refused_try::holder() const noexcept {
    static const std::optional<lock_info> nobody;
    return words_ ? words_->holder : nobody;
}

void refused_try::refuse() const {
    if (!words_) throw error(errc::busy, "the lease was taken out of this outcome before");
    const std::string& wanted = words_->wanted;
    const auto& who = words_->holder;
    // If several keys were wanted, the message names the first busy one.
    const std::string first = who && who->key != wanted ? "'" + who->key + "': " : "";
    throw_not_granted(wanted, who ? first + who->node_info + " holds it" : "");
}

// Events of the lease come first, and the session ends in any case.
release_outcome session::end_with(lease&& last) {
    struct ending {
        std::shared_ptr<session::implementation> of;
        bool is_all = false;
        bool is_released = false;
        ~ending() {
            is_all ? of->end_with(is_released) : of->end();
            of->see_off_calls();
        }
    } within{inner_};
    within.is_all =
        handle_maker::is_there(last) && inner_->is_ending_with(*last.inner()->granted());
    const release_outcome outcome = last.release();
    within.is_released = outcome == release_outcome::released;
    return outcome;
}

}  // namespace leasehold
