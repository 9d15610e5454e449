#include "lock/counted.hpp"

#include <algorithm>
#include <utility>

#include "core/jitter.hpp"
#include "leasehold/error.hpp"
#include "lock/lease.hpp"
#include "lock/patience.hpp"
#include "store/holder_store.hpp"

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

seeker::seeker(std::shared_ptr<session::implementation> within, hold_wish wished)
    : session_(std::move(within)),
      seeking_(*session_),
      wish_(std::move(wished)),
      of_call_(session_->one_request()) {}

seeker::~seeker() {
    if (announced_) withdraw();
}

// Each try has an owner of its own, so that one whose answer was lost can be settled without
// touching the next. What is announced, or made more of, has its row's.
owner_id seeker::owner_of_next_try() {
    if (wish_.instead_of) return wish_.instead_of->what().owner;
    return announced_ ? *announced_ : owner_id::random();
}

holder_request seeker::request_of(const owner_id& owner) const {
    holder_request request{
        wish_.name,
        owner,
        session_->id(),
        session_->node_info(),
        wish_.kind,
        wish_.mode,
        wish_.permits,
        wish_.capacity,
        wish_.gives_way_to,
        std::nullopt};
    if (wish_.instead_of) request.instead_of = wish_.instead_of->what().token;
    return request;
}

acquisition seeker::accept(
    const owner_id& owner, fencing_token token, std::int64_t notices_when_sent
) {
    announced_.reset();  // the row that announced it is the one that holds now
    auto granted =
        std::make_shared<grant>(hold{wish_.name, owner, token, wish_.kind}, std::nullopt);
    granted->mode() = wish_.mode;
    session_->watch(granted, notices_when_sent);
    session_->inner().tell({event_kind::granted, wish_.name.name(), token.number, ""});
    return acquisition{
        lease{std::make_shared<lease::implementation>(session_, std::move(granted))}};
}

// The answer to a try was lost. What the server knows now, if it can be asked; the try may still be
// under way there, so what was not accepted is released until it cannot come any more, and with it
// what was announced or should have been made more of.
std::optional<fencing_token> seeker::ask_again(const owner_id& owner) {
    const auto give_up = [&] {
        session_->settle_later(wish_.name, owner, wish_.kind);
        announced_.reset();
        if (!wish_.instead_of) return;
        session_->forget(*wish_.instead_of);
        wish_.instead_of->lose(loss_reason::taken_over);
    };
    try {
        auto found = session_->inner().use(of_call_, [&](connection& on, store& stores) {
            return stores.holders->find_grant(on, wish_.name, owner);
        });
        if (found && wish_.instead_of && *found == wish_.instead_of->what().token) found.reset();
        if (!found) give_up();
        return found;
    } catch (const error& failure) {
        give_up();
        throw error(
            failure.code(),
            "it is unknown whether '" + wish_.name.name() +
                "' was acquired, and asking failed too: " + failure.what() +
                "; the session releases it if it was",
            {failure.sqlstate(),
             failure.native_code(),
             failure.server_message(),
             true,
             failure.is_transient()}
        );
    }
}

acquisition seeker::answered(
    const holder_result& answer, const owner_id& owner, std::int64_t notices_when_sent
) {
    switch (answer.status) {
        case holder_status::granted:
            return accept(owner, answer.token, notices_when_sent);
        case holder_status::session_ended:
            session_->found_ended();
        case holder_status::lost:
            throw error(
                errc::lease_lost,
                "the lease on '" + wish_.name.name() +
                    "' that should be upgraded is not held any more; acquire it again"
            );
        case holder_status::other_kind:
        case holder_status::other_capacity:
            refuse_other_use(wish_, answer);
        case holder_status::busy:
            break;
    }
    session_->inner().tell({event_kind::refused, wish_.name.name(), 0, ""});
    return acquisition{answer.holder};
}

acquisition seeker::try_once() {
    constexpr int attempts_max = 2;
    for (int attempt = 1;; ++attempt) {
        session_->require_live();
        if (wish_.instead_of && !wish_.instead_of->is_live()) {
            holder_result gone;
            gone.status = holder_status::lost;
            return answered(gone, {}, 0);
        }
        const owner_id owner = owner_of_next_try();
        const auto notices = session_->notices();
        holder_result answer;
        try {
            answer = session_->inner().use(of_call_, [&](connection& on, store& stores) {
                return stores.holders->try_acquire(on, request_of(owner));
            });
        } catch (const error& failure) {
            if (failure.outcome_is_unknown()) {
                if (const auto token = ask_again(owner)) {
                    return accept(owner, *token, notices);
                }
            }
            // Proved not done, or not done so far and settled if it ever is: a new try is safe.
            if (!failure.is_transient() || attempt == attempts_max) throw;
            if (of_call_.have_passed()) throw;
            continue;
        }
        return answered(answer, owner, notices);
    }
}

acquisition seeker::wait_until(
    local_clock::time_point deadline, const polling& intervals, const std::stop_token& cancel
) {
    if (cancel.stop_requested()) return acquisition{std::nullopt};
    of_call_ = session_->call_until(deadline, cancel);
    for (int refusals = 1;; ++refusals) {
        std::optional<lock_info> holder;
        bool was_refused = false;
        try {
            acquisition got = try_once();
            if (got) return got;
            holder = got.holder();
            was_refused = true;
        } catch (const error& failure) {
            // A server that restarts ends no wait; the session's own deadline does.
            if (!failure.is_transient() || local_clock::now() >= deadline) throw;
        }
        const auto now = local_clock::now();
        if (now >= deadline || cancel.stop_requested()) return acquisition{holder};
        if (was_refused && wish_.announces_itself && !is_announced()) announce();
        const auto pause = backed_off(refusals, intervals.least, intervals.most);
        rest(std::min(deadline, now + pause), cancel, session_->over());
        if (cancel.stop_requested()) return acquisition{holder};
    }
}

// Force removes wishes with the holds, and says so in the session's notices. Where those have gone
// up for something else it is announced once more, which changes nothing.
bool seeker::is_announced() const {
    return announced_ && notices_when_announced_ == session_->notices();
}

// What is not known to be announced is announced again after the next refusal, by the same owner,
// and taken back as if it were.
void seeker::announce() {
    announced_ = owner_of_next_try();
    notices_when_announced_.reset();
    const auto notices = session_->notices();
    try {
        session_->inner().use(of_call_, [&](connection& on, store& stores) {
            stores.holders->announce(on, request_of(*announced_));
        });
        notices_when_announced_ = notices;
    } catch (const error& failure) {
        if (!failure.is_transient()) throw;
        may_come_late_ = may_come_late_ || failure.outcome_is_unknown();
    }
}

// What waits would keep others out for as long as the session lives; a hold that should have been
// made more of stays, and keeps them out until it is released.
void seeker::withdraw() noexcept {
    const owner_id owner = *announced_;
    announced_.reset();
    const auto settle_later = [&] {
        if (!wish_.instead_of) session_->settle_later(wish_.name, owner, wish_.kind);
    };
    if (!session_->may_part()) return settle_later();
    const bounds until = session_->parting();
    constexpr int attempts_max = 3;
    for (int attempt = 1;; ++attempt) {
        try {
            session_->inner().use(until, [&](connection& on, store& stores) {
                stores.holders->withdraw(on, wish_.name, owner);
            });
            if (may_come_late_) {
                settle_later();
            } else if (!wish_.instead_of) {
                session_->gave_up(wish_.name, owner, wish_.kind);
            }
            return;
        } catch (const error& failure) {
            const bool may_go_on = session_->may_part_again(until);
            if (failure.is_transient() && attempt < attempts_max && may_go_on) continue;
            session_->inner().tell(
                {event_kind::release_failed, wish_.name.name(), 0, failure.what()}
            );
            settle_later();
            return;
        } catch (const std::exception&) {
            return;
        }
    }
}

}  // namespace leasehold
