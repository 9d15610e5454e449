#include "lock/acquire.hpp"

#include <algorithm>

#include "leasehold/error.hpp"
#include "store/lock_store.hpp"

namespace leasehold {
namespace {

template <class Use>
void lent_by(
    session::implementation& within, const bounds& of_call, const lender& lend, Use&& with
) {
    if (lend) {
        lend(with);
    } else {
        within.inner().use(of_call, with);
    }
}

}  // namespace

acquire_request request_for(const session::implementation& within, const wish& what) {
    return {
        what.key,
        owner_id::random(),
        within.id(),
        within.node_info(),
        what.hold_at_most,
        what.lock_delay,
        what.metadata};
}

std::shared_ptr<grant> accept(
    session::implementation& within,
    const acquire_request& request,
    fencing_token token,
    std::optional<local_clock::time_point> term_end,
    std::int64_t notices_when_sent
) {
    if (term_end) *term_end -= margin_of(within, *request.hold_at_most);
    auto granted = std::make_shared<grant>(hold{request.key, request.owner, token}, term_end);
    within.watch(granted, notices_when_sent);
    within.inner().tell({event_kind::granted, request.key.name(), token.number, ""});
    return granted;
}

void become_mutex(
    session::implementation& within,
    const key& name,
    lock_kind found,
    const bounds& of_call,
    const lender& lend
) {
    bool is_ours = false;
    lent_by(within, of_call, lend, [&](connection& on, store& stores) {
        is_ours = stores.locks->change_kind(on, name, lock_kind::mutex);
    });
    if (is_ours) return;
    throw error(
        errc::invalid_argument,
        "'" + name.name() + "' is in use as a " + name_of(found) + " and cannot be a " +
            name_of(lock_kind::mutex) + " at the same time; use another key"
    );
}

namespace {

// The answer to a try was lost. What the server knows now, if it can be asked; either way the try
// may still be under way there, so the session keeps releasing what was not accepted.
std::optional<fencing_token> ask_again(
    session::implementation& within, const acquire_request& request, const bounds& of_call
) {
    try {
        const auto found = within.inner().use(of_call, [&](connection& on, store& stores) {
            return stores.locks->find_grant(on, request.key, request.owner);
        });
        if (!found) within.settle_later(request.key, request.owner);
        return found;
    } catch (const error& failure) {
        within.settle_later(request.key, request.owner);
        throw error(
            failure.code(),
            "it is unknown whether '" + request.key.name() +
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

}  // namespace

void require_valid_term(std::chrono::microseconds term, const char* what) {
    if (term >= std::chrono::milliseconds{1} && term <= std::chrono::hours{366 * 24}) return;
    throw error(errc::invalid_argument, std::string(what) + " must be 1 ms to 366 days");
}

std::chrono::microseconds margin_of(
    const session::implementation& within, std::chrono::microseconds term
) {
    return std::min<std::chrono::microseconds>(within.settings().margin, term / 6);
}

try_outcome try_once(
    session::implementation& within, const wish& what, const bounds& of_call, const lender& lend
) {
    const session::implementation::under_way sending{within};
    constexpr int attempts_max = 2;
    for (int attempt = 1;; ++attempt) {
        within.require_live();
        const acquire_request request = request_for(within, what);
        const auto notices = within.notices();
        std::optional<local_clock::time_point> term_end;
        if (what.hold_at_most) term_end = local_clock::now() + *what.hold_at_most;
        try {
            acquire_result answer;
            lent_by(within, of_call, lend, [&](connection& on, store& stores) {
                answer = stores.locks->try_acquire(on, request);
            });
            if (answer.status == acquire_status::granted) {
                return {accept(within, request, answer.token, term_end, notices), std::nullopt};
            }
            if (answer.status == acquire_status::session_ended) {
                within.found_ended();
            }
            if (answer.status == acquire_status::wrong_kind) {
                become_mutex(within, what.key, answer.kind, of_call, lend);
                if (attempt < attempts_max) continue;
            }
            within.inner().tell({event_kind::refused, what.key.name(), 0, ""});
            return {nullptr, answer.holder};
        } catch (const error& failure) {
            if (failure.outcome_is_unknown()) {
                if (const auto token = ask_again(within, request, of_call)) {
                    return {accept(within, request, *token, term_end, notices), std::nullopt};
                }
            }
            // Proved not done, or not done so far and settled if it ever is: a new try is safe.
            if (!failure.is_transient() || attempt == attempts_max) throw;
            if (of_call.have_passed()) throw;
        }
    }
}

}  // namespace leasehold
