#include "lock/lease.hpp"

#include "leasehold/error.hpp"
#include "session/pass_on.hpp"
#include "session/taking_part.hpp"
#include "store/holder_store.hpp"
#include "store/lock_store.hpp"

namespace leasehold {
namespace {

event_kind kind_of(release_outcome outcome) {
    if (outcome == release_outcome::not_held) return event_kind::stale_token_refused;
    if (outcome == release_outcome::unknown) return event_kind::outcome_unknown;
    return event_kind::released;
}

// A grant that is being released stays watched until that is settled, so that nobody adopts the
// hold into the same session meanwhile: the release would end it.
class watched_to_its_end {
public:
    watched_to_its_end(session::implementation& within, const grant& ending)
        : within_(within), ending_(ending) {}
    ~watched_to_its_end() { within_.forget(ending_); }
    watched_to_its_end(const watched_to_its_end&) = delete;
    watched_to_its_end& operator=(const watched_to_its_end&) = delete;

private:
    session::implementation& within_;
    const grant& ending_;
};

std::string label(const hold& what) {
    return "the lease on '" + what.key.name() + "' (token " + std::to_string(what.token.number) +
           ")";
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
    session_->gave_up(what().key, what().owner, what().kind);
    if (grant_->lose(why)) {
        session_->inner().tell(
            {event_kind::lost, what().key.name(), what().token.number, name_of(why)}
        );
    }
}

bool lease::implementation::verify() {
    if (reason() != loss_reason::none) return false;
    const bool held = session_->inner().use([&](connection& on, store& stores) -> bool {
        if (what().kind != lock_kind::mutex) {
            return stores.holders->which_are_held(on, {what()}).at(0);
        }
        return stores.locks->standings(on, {what()}).at(0) != standing::gone;
    });
    if (!held) lose(loss_reason::taken_over);
    return held && held_locally();
}

void lease::implementation::verify_in(connection& inside) {
    require_transaction(inside, "verify_in");
    require_engine(inside, session_->inner().which(), "verify_in");
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
    const auto prove = [&](auto& holds) { return holds.prove(inside, what()); };
    if (!with_store_of(session_->inner().store_for(inside), what().kind, prove)) {
        lose(loss_reason::taken_over);
        refuse(loss_reason::taken_over);
    }
}

release_outcome lease::implementation::release() {
    return give_back(false);
}

// Whoever parts does not wait for a server that is out: the session goes on with it.
release_outcome lease::implementation::give_back(bool is_parting) {
    if (is_released_.exchange(true)) return release_outcome::not_held;
    const session::implementation::under_way sending{*session_};
    // What a proof or a question has said is lost may be there all the same: PostgreSQL refuses a
    // proof by a snapshot that is older than the grant.
    const loss_reason why = grant_->reason();
    const bool was_lost = why != loss_reason::none && why != loss_reason::taken_over;
    given_back_.request_stop();  // before anybody else can be granted the key
    // A fixed term outlives its session, and can be given back after it has run out here.
    const bool is_for_later = is_parting && session_->is_live();
    if (was_lost && (!has_term() || is_for_later)) return give_back_lost();
    bounds of_call = is_parting ? session_->parting() : session_->one_request();
    of_call.over = {};  // a fixed term outlives its session
    bool is_last = false;
    release_outcome outcome{};
    {
        const std::lock_guard guard{grant_->depth().mutex};
        is_last = --grant_->depth().count == 0;
        if (is_last) {
            outcome = release_last(of_call, is_parting);
        } else if (is_parting && !session_->may_part()) {
            grant_->depth().is_uncertain = true;  // the last one frees the row whatever its count
            outcome = release_outcome::unknown;
        } else {
            outcome = release_level(of_call);
        }
    }
    // Unlocked: who is told of it may release the other levels.
    if (!is_last && outcome == release_outcome::not_held) lose(loss_reason::taken_over);
    return outcome;
}

// There is nothing to give back: its session has expired, or will before anybody else is granted
// the key. Only a fixed term that ran out here goes on for its margin there, and for the key's
// lock_delay.
release_outcome lease::implementation::give_back_lost() {
    if (has_term() && grant_->reason() == loss_reason::expired) {
        session_->give_back_later(what().key, what().owner, what().kind);
    }
    session_->inner().tell(
        {event_kind::stale_token_refused, what().key.name(), what().token.number, ""}
    );
    return release_outcome::not_held;
}

// One level of several. Not asked again when the answer is lost, because taking two levels off is
// not harmless; the last level then frees whatever count the row has.
release_outcome lease::implementation::release_level(const bounds& of_call) {
    try {
        return session_->inner().use(of_call, [&](connection& on, store& stores) {
            return release_hold(session_->inner(), on, stores, what());
        });
    } catch (const error& failure) {
        grant_->depth().is_uncertain = true;
        if (failure.outcome_is_unknown()) return release_outcome::unknown;
        throw;
    }
}

release_outcome lease::implementation::release_last(const bounds& of_call, bool is_parting) {
    const watched_to_its_end ending{*session_, *grant_};
    grant_->lose(loss_reason::released);
    auto& database = session_->inner();
    bool was_in_doubt = false;
    if (is_parting && !session_->may_part()) {
        session_->give_back_later(what().key, what().owner, what().kind);
        database.tell(
            {event_kind::release_failed,
             what().key.name(),
             what().token.number,
             "the database does not answer: the session releases it when it does"}
        );
        return release_outcome::unknown;
    }
    for (int attempt = 1;; ++attempt) {
        try {
            const auto outcome = database.use(of_call, [&](connection& on, store& stores) {
                return release_on(on, stores, was_in_doubt);
            });
            session_->gave_up(what().key, what().owner, what().kind);
            database.tell({kind_of(outcome), what().key.name(), what().token.number, ""});
            return outcome;
        } catch (const error& failure) {
            was_in_doubt = was_in_doubt || failure.outcome_is_unknown();
            const bool is_in_vain =
                is_parting ? !session_->may_part_again(of_call) : of_call.have_passed();
            if (failure.is_transient() && attempt < release_attempts_max && !is_in_vain) continue;
            // Nobody has the lease any more that could release it again.
            session_->settle_later(what().key, what().owner, what().kind);
            if (was_in_doubt) return release_outcome::unknown;
            throw;
        }
    }
}

release_outcome lease::implementation::release_on(
    connection& on, store& stores, bool was_in_doubt
) {
    auto& database = session_->inner();
    const auto outcome =
        grant_->depth().is_uncertain
            ? release_owner(database, on, stores, what().key, what().owner, what().kind)
            : release_hold(database, on, stores, what());
    if (outcome != release_outcome::not_held || !was_in_doubt) return outcome;
    if (what().kind != lock_kind::mutex) return release_outcome::unknown;  // its row is gone
    // Not ours after an attempt that got no answer. That attempt did it if the fence is still ours;
    // where it moved on, somebody may have taken the key before that attempt arrived.
    const auto now = stores.locks->describe(on, what().key);
    const bool is_untouched = now && now->token == what().token;
    return is_untouched ? release_outcome::released : release_outcome::unknown;
}

void lease::implementation::supersede() noexcept {
    if (is_released_.exchange(true)) return;
    session_->forget(*grant_);
    given_back_.request_stop();
    grant_->lose(loss_reason::released);
}

int lease::implementation::levels() const {
    const std::lock_guard guard{grant_->depth().mutex};
    return grant_->depth().count;
}

void lease::implementation::release_quietly() noexcept {
    try {
        give_back(true);
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

const key& lease::key() const noexcept {
    return held_->what().key;
}
fencing_token lease::token() const noexcept {
    return held_->what().token;
}
const owner_id& lease::owner() const noexcept {
    return held_->what().owner;
}
std::stop_token lease::lost() const noexcept {
    return held_->lost();
}
loss_reason lease::why_lost() const noexcept {
    return held_->reason();
}
std::stop_token lease::revoke_requested() const noexcept {
    return held_->revoke_requested();
}
bool lease::held_locally() const noexcept {
    return held_->held_locally();
}
local_clock::time_point lease::deadline() const noexcept {
    return held_->deadline();
}
// Each of these may tell of a loss, and whoever is told may destroy the lease.
bool lease::verify() {
    const auto alive = held_;
    return alive->verify();
}
void lease::verify_in(transaction_ref tx) {
    const auto alive = held_;
    alive->verify_in(tx.inside());
}
release_outcome lease::release() {
    const auto alive = held_;
    return alive->release();
}

}  // namespace leasehold
