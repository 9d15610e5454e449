#include "locks/acquire.hpp"

#include <algorithm>
#include <vector>

#include "database/beside_others.hpp"
#include "leasehold/error.hpp"
#include "locks/attempt.hpp"
#include "locks/hold_store.hpp"
#include "locks/keep_asking.hpp"

namespace leasehold {
acquire_request request_for(const session::implementation& within, const wish& what) {
    return {
        what.key,
        owner_id::random(),
        within.id(),
        within.node_info(),
        what.fixed_term,
        what.lock_delay,
        what.metadata};
}

std::shared_ptr<grant> accept(
    session::implementation& within,
    const acquire_request& request,
    fencing_token token,
    std::optional<local_clock::time_point> term_end,
    std::int64_t notices_when_sent,
    const way_to_grant& way
) {
    if (term_end) *term_end -= margin_of(within, *request.fixed_term);
    auto granted = std::make_shared<grant>(hold{request.key, request.owner, token}, term_end);
    within.watch(granted, notices_when_sent);
    tell_granted(within, *granted, way);
    return granted;
}

void tell_granted(session::implementation& within, const grant& what, const way_to_grant& way) {
    const hold& held = what.what();
    const char* const detail = way.how == event_reason::adopted ? "adopted" : "";
    within.database().tell(
        {event_kind::granted,
         held.key.name(),
         held.token.number,
         detail,
         way.how,
         local_clock::now() - way.asked}
    );
}

void tell_in_vain(session::implementation& within, const key& what, const wait_limit& limit) {
    const auto why =
        limit.cancel.stop_requested() ? event_reason::cancelled : event_reason::timed_out;
    within.database().tell(
        {event_kind::waited_in_vain, what.name(), 0, "", why, local_clock::now() - limit.began}
    );
}

void become_mutex(connection& on, store_set& stores, const key& name, lock_kind found) {
    if (stores.get<hold_store>().change_kind(on, name, lock_kind::mutex)) return;
    throw error(
        errc::invalid_argument,
        "'" + name.name() + "' is in use as a " + name_of(found) + " and cannot be a " +
            name_of(lock_kind::mutex) + " at the same time; use another key"
    );
}

acquire_result ask_for(connection& on, store_set& stores, const acquire_request& request) {
    acquire_result answer = stores.get<hold_store>().try_acquire(on, request);
    if (answer.status == acquire_status::wrong_kind) {
        become_mutex(on, stores, request.key, answer.kind);
    }
    return answer;
}

void require_valid_term(std::chrono::microseconds term, const char* what) {
    if (term >= std::chrono::milliseconds{1} && term <= std::chrono::hours{366 * 24}) return;
    throw error(errc::invalid_argument, std::string(what) + " must be 1 ms to 366 days");
}

std::chrono::microseconds margin_of(
    const session::implementation& within, std::chrono::microseconds term
) {
    return std::min<std::chrono::microseconds>(*within.settings().margin, term / 6);
}

grant::limit limit_from(
    const session::implementation& within,
    local_clock::time_point since,
    std::chrono::microseconds term
) {
    const auto over = since + term;
    return {over - margin_of(within, term), over};
}

namespace {

using maybe_granted = std::vector<std::optional<acquire_result>>;

maybe_granted ask_for_several(
    connection& on, store_set& stores, const std::vector<const acquire_request*>& wanted
) {
    maybe_granted answers;
    for (const auto& token : stores.get<hold_store>().try_acquire_several(on, wanted)) {
        answers.emplace_back();
        if (token) answers.back() = acquire_result{acquire_status::granted, *token, std::nullopt};
    }
    return answers;
}

acquire_result ask_on_pool(
    database::implementation& within, const bounds& of_call, const acquire_request& wanted
) {
    const auto alone = [&](connection& on, store_set& stores) {
        return ask_for(on, stores, wanted);
    };
    return ask_beside_others<acquire_result>(
        within, within.acquires(), of_call, wanted, ask_for_several, alone
    );
}

class mutex_attempt final : grant_attempt {
public:
    mutex_attempt(
        session::implementation& within,
        const wish& what LEASEHOLD_LIFETIMEBOUND,
        const sender& send LEASEHOLD_LIFETIMEBOUND
    )
        : grant_attempt(within), what_(what), send_(send) {}

    try_outcome outcome(const bounds& of_call) {
        if (carry_through(of_call)) return {std::move(granted_), std::nullopt};
        within().database().tell({event_kind::refused, what_.key.name(), 0, "", event_reason::busy}
        );
        return {nullptr, std::move(answer_.holder)};
    }

private:
    void prepare() override { request_.emplace(request_for(within(), what_)); }

    // A caller that sends the request elsewhere needs a session before that.
    void require_session(const bounds& of_call) override {
        const bool may_begin = !send_ && !within().has_begun() && within().is_live();
        if (!may_begin) within().require_live(of_call);
    }

    attempt_event send(const bounds& of_call) override {
        answer_ = answer_to(of_call);
        switch (answer_.status) {
            case acquire_status::granted:
                token_ = answer_.token;
                return attempt_event::granted;
            case acquire_status::session_ended:
                return attempt_event::session_ended;
            case acquire_status::wrong_kind:
                return attempt_event::cleared;
            case acquire_status::busy:
                break;
        }
        return attempt_event::refused;
    }

    acquire_result answer_to(const bounds& of_call) {
        if (send_) return send_(*request_);
        if (auto of_first = first_act(of_call)) return std::move(*of_first);
        return ask_on_pool(within().database(), of_call, *request_);
    }

    // The first request of a session that has not begun: a grant begins the session, a refusal does
    // not. A grant with a fixed term does not begin it: it would outlive a session whose beginning
    // is in doubt.
    std::optional<acquire_result> first_act(const bounds& of_call) {
        if (within().has_begun()) return std::nullopt;
        if (!what_.fixed_term) {
            if (const auto token = within().begin_with(of_call, *request_)) {
                return acquire_result{acquire_status::granted, *token, std::nullopt};
            }
            if (within().has_begun()) return std::nullopt;  // by another call's grant
            if (auto holder = holder_now(of_call)) {
                return acquire_result{acquire_status::busy, {}, std::move(holder)};
            }
        }
        within().require_live(of_call);
        return std::nullopt;
    }

    std::optional<lock_info> holder_now(const bounds& of_call) {
        auto seen = within().database().ask(of_call, &hold_store::describe, request_->key, false);
        if (!seen || !seen->info.is_held) return std::nullopt;
        return std::move(seen->info);
    }

    bool find(const bounds& of_call) override {
        token_ = within().database().ask(
            of_call, &hold_store::find_grant, request_->key, request_->owner
        );
        return token_.has_value();
    }

    void settle() override { within().settle_later(request_->key, request_->owner); }

    void accept() override {
        std::optional<local_clock::time_point> term_end;
        if (what_.fixed_term) term_end = sent_at() + *what_.fixed_term;
        granted_ = leasehold::accept(
            within(), *request_, token_.value(), term_end, notices(), way_to_grant{.asked = asked()}
        );
    }

    const key& first_key() const override { return what_.key; }

    const wish& what_;
    const sender& send_;
    std::optional<acquire_request> request_;
    acquire_result answer_;
    std::optional<fencing_token> token_;
    std::shared_ptr<grant> granted_;
};

}  // namespace

try_outcome try_once(
    session::implementation& within, const wish& what, const bounds& of_call, const sender& send
) {
    return mutex_attempt{within, what, send}.outcome(of_call);
}

}  // namespace leasehold
