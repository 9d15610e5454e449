#include "locks/counted.hpp"

#include <utility>

#include "core/handle_maker.hpp"
#include "leasehold/error.hpp"
#include "locks/acquire.hpp"
#include "locks/holder_store.hpp"
#include "locks/lease.hpp"

namespace leasehold {
namespace {

std::string what_it_is(lock_kind kind, std::int64_t capacity) {
    std::string text = "a " + std::string(name_of(kind));
    if (kind == lock_kind::semaphore) text += " of " + std::to_string(capacity) + " permits";
    if (kind == lock_kind::latch) text += " for " + std::to_string(capacity) + " arrivals";
    if (kind == lock_kind::barrier) text += " for " + std::to_string(capacity) + " participants";
    return text;
}

}  // namespace

void refuse_other_use(const hold_wish& wished, const holder_result& answer) {
    if (answer.status == holder_status::other_kind) {
        throw error(
            errc::invalid_argument,
            "'" + wished.name.name() + "' is in use as a " + name_of(answer.kind) +
                " and cannot be used as a " + name_of(wished.kind) +
                " meanwhile: use another key for one of them"
        );
    }
    throw error(
        errc::invalid_argument,
        "'" + wished.name.name() + "' is in use as " + what_it_is(wished.kind, answer.capacity) +
            ", and this asks for it as " + what_it_is(wished.kind, wished.capacity) +
            ": give every program the same number"
    );
}

void refuse_more_than_all(const hold_wish& wished) {
    throw error(
        errc::invalid_argument,
        std::to_string(wished.permits) + " permits of '" + wished.name.name() +
            "' cannot be acquired: it has " + std::to_string(wished.capacity) + ", ask for 1 to " +
            std::to_string(wished.capacity)
    );
}

void require_ours(
    const lease& held, const session::implementation& within, const key& name, lock_kind kind
) {
    const auto& inner = held.inner();
    if (inner->belongs_to(within) && held.key() == name && inner->what().kind == kind) return;
    const bool is_place = kind == lock_kind::latch;
    throw error(
        errc::invalid_argument,
        std::string("this lease is not ") + (is_place ? "a place at the " : "one of the ") +
            name_of(kind) + " '" + name.name() + "' in this session"
    );
}

std::shared_ptr<grant> grant_of(
    const lease& held, const session::implementation& within, const key& name, lock_kind kind
) {
    require_ours(held, within, name, kind);
    if (held.inner()->reason() != loss_reason::none) refuse_lost(name);
    return held.inner()->granted();
}

void refuse_lost(const key& name) {
    throw error(
        errc::lease_lost,
        "the lease on '" + name.name() + "' is not held any more; acquire it again"
    );
}

void reduce(session::implementation& within, lease& held, hold_mode mode, std::int64_t permits) {
    const hold& what = held.inner()->what();
    const bounds of_call = within.one_request();
    const auto send = [&](int) {
        return within.database().ask(of_call, &holder_store::reduce, what, mode, permits);
    };
    if (repeat(send, [&](const error&) { return !of_call.have_passed(); })) return;
    static_cast<void>(held.verify());  // tells the listeners that it is lost
    refuse_lost(what.key);
}

holder_request request_for(
    const session::implementation& within, const hold_wish& wished, const owner_id& owner
) {
    holder_request request{
        wished.name,
        owner,
        within.id(),
        within.node_info(),
        wished.kind,
        wished.mode,
        wished.permits,
        wished.capacity,
        wished.gives_way_to,
        std::nullopt,
        wished.follows_key};
    if (wished.instead_of) request.instead_of = wished.instead_of->what().token;
    return request;
}

seeker::seeker(std::shared_ptr<session::implementation> within, hold_wish wished)
    : grant_attempt(*within),
      session_(std::move(within)),
      seeking_(*session_),
      wish_(std::move(wished)),
      of_call_(session_->one_request()) {}

seeker::~seeker() {
    if (announced_) withdraw();
}

// A try that was announced, or that upgrades a hold, has the owner id of that row.
owner_id seeker::owner_of_next_try() const {
    if (wish_.instead_of) return wish_.instead_of->what().owner;
    return announced_ ? *announced_ : owner_id::random();
}

void seeker::refuse_lost() const {
    throw error(
        errc::lease_lost,
        "the lease on '" + wish_.name.name() +
            "' that should be upgraded is not held any more; acquire it again"
    );
}

void seeker::prepare() {
    if (wish_.instead_of && !wish_.instead_of->is_live()) refuse_lost();
    owner_ = owner_of_next_try();
}

holder_result seeker::ask(const bounds& of_call) {
    return session_->database().ask(
        of_call, &holder_store::try_acquire, request_for(*session_, wish_, owner_)
    );
}

// The remembered facts about the key may be old: too few permits for the wish, or another number
// than the key has. If the number differs each time, other processes have changed it in between:
// the answer is busy then.
holder_result seeker::ask_following(const bounds& of_call) {
    constexpr int max_asked = 8;
    if (wish_.permits > wish_.capacity) {
        const auto seen = session_->database().ask(of_call, &holder_store::tally, wish_.name);
        if (seen && seen->kind == wish_.kind) wish_.capacity = seen->capacity;
    }
    holder_result answer;
    for (int asked = 0; asked < max_asked; ++asked) {
        if (wish_.permits > wish_.capacity) refuse_more_than_all(wish_);
        answer = ask(of_call);
        if (answer.status != holder_status::other_capacity) return answer;
        wish_.capacity = answer.capacity;
    }
    answer.status = holder_status::busy;
    return answer;
}

attempt_event seeker::send(const bounds& of_call) {
    answer_ = wish_.follows_key ? ask_following(of_call) : ask(of_call);
    switch (answer_.status) {
        case holder_status::granted:
            return attempt_event::granted;
        case holder_status::session_ended:
            return attempt_event::session_ended;
        case holder_status::lost:
            refuse_lost();
        case holder_status::other_kind:
        case holder_status::other_capacity:
            refuse_other_use(wish_, answer_);
        case holder_status::busy:
            break;
    }
    return attempt_event::refused;
}

bool seeker::find(const bounds& of_call) {
    const auto found =
        session_->database().ask(of_call, &holder_store::find_grant, wish_.name, owner_);
    // The row exists in either case: if it still has the token it had, the upgrade was not done.
    if (!found || (wish_.instead_of && *found == wish_.instead_of->what().token)) return false;
    answer_.token = *found;
    return true;
}

// Settles, too, an announcement, or a hold that should have been upgraded.
void seeker::settle() {
    session_->settle_later(wish_.name, owner_, wish_.kind);
    announced_.reset();
    if (!wish_.instead_of) return;
    session_->forget(*wish_.instead_of);
    wish_.instead_of->lose(loss_reason::taken_over);
}

void seeker::accept() {
    announced_.reset();  // the row that announced it is the one that holds now
    const fencing_token token = answer_.token;
    granted_ = std::make_shared<grant>(hold{wish_.name, owner_, token, wish_.kind}, std::nullopt);
    granted_->mode() = wish_.mode;
    granted_->permits() = wish_.permits;
    if (wish_.max_hold) {
        granted_->set_limit(limit_from(*session_, sent_at(), *wish_.max_hold));
    }
    session_->watch(granted_, notices());
    tell_granted(*session_, *granted_, way_to_grant{.asked = asked()});
}

acquisition seeker::try_once() {
    if (carry_through(of_call_)) {
        return acquisition{handle_maker::share<lease>(session_, std::move(granted_))};
    }
    session_->database().tell({event_kind::refused, wish_.name.name(), 0, "", event_reason::busy});
    return acquisition{std::move(answer_.holder), wish_.name};
}

acquisition seeker::wait(const wait_limit& limit, const polling& polls) {
    of_call_ = session_->call_until(limit.deadline, limit.cancel);
    acquisition nothing{std::nullopt, wish_.name};
    session_->begin_to_wait(of_call_);
    acquisition got = keep_asking(
        limit,
        polls,
        session_->over(),
        std::move(nothing),
        [&] { return try_once(); },
        [&](const acquisition&) {
            if (wish_.announces_itself && !is_announced()) announce();
            return std::optional<acquisition>{};
        }
    );
    if (!got) tell_in_vain(*session_, wish_.name, limit);
    return got;
}

// Force removes wishes with the holds, and says so in the session's notices. If the notices have
// gone up for something else the wish is announced once more, which changes nothing.
bool seeker::is_announced() const {
    return announced_ && notices_when_announced_ == session_->notices();
}

// Announces a waiter. If it is not known whether that arrived, the seeker announces the waiter
// again after the next refusal, by the same owner, and takes it back as if it had arrived.
void seeker::announce() {
    announced_ = owner_of_next_try();
    notices_when_announced_.reset();
    const auto notices = session_->notices();
    try {
        session_->database().ask(
            of_call_, &holder_store::announce, request_for(*session_, wish_, *announced_)
        );
        notices_when_announced_ = notices;
    } catch (const error& failure) {
        if (!failure.is_transient()) throw;
        may_come_late_ = may_come_late_ || failure.outcome_is_unknown();
    }
}

// A waiting row would keep others out for as long as the session lives. A hold that should have
// been upgraded stays, and keeps others out until it is released.
void seeker::withdraw() noexcept {
    const owner_id owner = *announced_;
    announced_.reset();
    const auto settle_later = [&] {
        if (!wish_.instead_of) session_->settle_later(wish_.name, owner, wish_.kind);
    };
    if (!session_->may_part()) return settle_later();
    const bounds until = session_->parting();
    const auto take_back = [&](int) {
        session_->database().ask(until, &holder_store::withdraw, wish_.name, owner);
    };
    try {
        repeat(take_back, [&](const error&) { return session_->may_part_again(until); });
        if (may_come_late_) {
            settle_later();
        } else if (!wish_.instead_of) {
            session_->gave_up(wish_.name, owner, wish_.kind);
        }
    } catch (const error& failure) {
        session_->database().tell({event_kind::release_failed, wish_.name.name(), 0, failure.what()}
        );
        settle_later();
    } catch (const std::exception&) {
        return;
    }
}

}  // namespace leasehold
