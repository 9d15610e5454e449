#include "lock/acquire.hpp"

#include <algorithm>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::shared_ptr<grant> accept(
    session::implementation& within,
    const acquire_request& request,
    fencing_token token,
    local_clock::time_point sent,
    std::int64_t notices_when_sent
) {
    std::optional<local_clock::time_point> term_end;
    if (request.hold_at_most) {
        const auto term = *request.hold_at_most;
        const auto margin = std::min<std::chrono::microseconds>(within.settings().margin, term / 6);
        term_end = sent + term - margin;
    }
    auto granted = std::make_shared<grant>(hold{request.key, request.owner, token}, term_end);
    within.watch(granted, notices_when_sent);
    within.inner().tell({event_kind::granted, request.key.name(), token.number, ""});
    return granted;
}

// The answer to a try was lost. What the server knows now, if it can be asked; either way the try
// may still be under way there, so the session keeps releasing what was not accepted.
std::optional<fencing_token> ask_again(
    session::implementation& within, const acquire_request& request
) {
    try {
        const auto found = within.inner().use([&](connection& on, store& stores) {
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

try_outcome try_once(
    session::implementation& within,
    const key& name,
    std::optional<std::chrono::microseconds> hold_at_most
) {
    const session::implementation::under_way sending{within};
    constexpr int attempts_max = 2;
    for (int attempt = 1;; ++attempt) {
        within.require_live();
        const acquire_request request{
            name, owner_id::random(), within.id(), within.node_info(), hold_at_most};
        const auto notices = within.notices();
        const auto sent = local_clock::now();
        try {
            const auto answer = within.inner().use([&](connection& on, store& stores) {
                return stores.locks->try_acquire(on, request);
            });
            if (answer.status == acquire_status::granted) {
                return {accept(within, request, answer.token, sent, notices), std::nullopt};
            }
            if (answer.status == acquire_status::session_ended) {
                throw error(
                    errc::session_lost, "the database says the session has ended; open a new one"
                );
            }
            within.inner().tell({event_kind::refused, name.name(), 0, ""});
            return {nullptr, answer.holder};
        } catch (const error& failure) {
            if (failure.outcome_is_unknown()) {
                if (const auto token = ask_again(within, request)) {
                    return {accept(within, request, *token, sent, notices), std::nullopt};
                }
            }
            // Proved not done, or not done so far and settled if it ever is: a new try is safe.
            if (!failure.is_transient() || attempt == attempts_max) throw;
        }
    }
}

}  // namespace leasehold
