#include "leasehold/multi_lock.hpp"

#include <algorithm>
#include <utility>

#include "leasehold/error.hpp"
#include "lock/acquire.hpp"
#include "lock/multi_lease.hpp"
#include "lock/patience.hpp"
#include "store/multi_lock_store.hpp"

namespace leasehold {
namespace {

std::vector<key> checked(std::vector<key> keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (!keys.empty() && keys.size() <= multi_lock::keys_max) return keys;
    throw error(
        errc::invalid_argument,
        "a multi_lock takes 1 to " + std::to_string(multi_lock::keys_max) +
            " different keys, not " + std::to_string(keys.size())
    );
}

multi_lock_settings checked(multi_lock_settings settings) {
    require_valid_polls(settings.poll_min, settings.poll_max);
    if (settings.hold_at_most) require_valid_term(*settings.hold_at_most, "hold_at_most");
    return settings;
}

}  // namespace

class multi_lock::implementation {
public:
    implementation(session& within, std::vector<key> keys, multi_lock_settings settings)
        : session_(within.inner()), keys_(checked(std::move(keys))), settings_(checked(settings)) {}

    const std::vector<key>& keys() const noexcept { return keys_; }

    multi_acquisition try_acquire() { return try_within(session_->one_request()); }

    multi_acquisition try_within(const bounds& of_call) {
        const session::implementation::under_way sending{*session_};
        // Each may find one more key that was used as something else until now.
        const int attempts_max = 1 + static_cast<int>(keys_.size());
        constexpr int failures_max = 2;
        int failures = 0;
        for (int attempt = 1;; ++attempt) {
            session_->require_live();
            const acquire_all_request request{
                keys_,
                owner_id::random(),
                session_->id(),
                session_->node_info(),
                settings_.hold_at_most};
            const auto notices = session_->notices();
            const auto sent = local_clock::now();
            try {
                auto answer = session_->inner().use(of_call, [&](connection& on, store& stores) {
                    return stores.multi_locks->try_acquire_all(on, request);
                });
                if (answer.status == acquire_all_status::wrong_kind) {
                    session_->inner().use(of_call, [&](connection& on, store& stores) {
                        become_mutex(on, stores, answer.misused.value(), answer.kind);
                    });
                    if (attempt < attempts_max) continue;
                }
                return take(request, std::move(answer), sent, notices);
            } catch (const error& failure) {
                if (failure.outcome_is_unknown()) {
                    if (const auto tokens = ask_again(request, of_call)) {
                        return accept(request, *tokens, sent, notices);
                    }
                }
                // Proved not done, or not done so far and settled if it ever is.
                if (!failure.is_transient() || ++failures == failures_max) throw;
                if (of_call.have_passed()) throw;
            }
        }
    }

    multi_acquisition acquire_until(
        local_clock::time_point deadline, const std::stop_token& cancel
    ) {
        const bounds of_call = session_->call_until(deadline, cancel);
        const asking how{deadline, settings_.poll_min, settings_.poll_max};
        multi_acquisition nothing{std::nullopt};
        return keep_asking(how, cancel, session_->over(), std::move(nothing), [&] {
            return try_within(of_call);
        });
    }

private:
    multi_acquisition take(
        const acquire_all_request& request,
        acquire_all_result answer,
        local_clock::time_point sent,
        std::int64_t notices
    ) {
        switch (answer.status) {
            case acquire_all_status::granted:
                return accept(request, answer.tokens, sent, notices);
            case acquire_all_status::session_ended:
                session_->found_ended();
            case acquire_all_status::wrong_kind:  // used by somebody for a moment, just now
            case acquire_all_status::busy:
                break;
        }
        const std::string first = answer.holder ? answer.holder->key : keys_.front().name();
        session_->inner().tell({event_kind::refused, first, 0, ""});
        return multi_acquisition{std::move(answer.holder)};
    }

    multi_acquisition accept(
        const acquire_all_request& request,
        const std::vector<fencing_token>& tokens,
        local_clock::time_point sent,
        std::int64_t notices
    ) {
        std::optional<local_clock::time_point> term_end;
        if (const auto& term = request.hold_at_most) {
            term_end = sent + *term - margin_of(*session_, *term);
        }
        std::vector<std::shared_ptr<grant>> grants;
        for (std::size_t at = 0; at < keys_.size(); ++at) {
            grants.push_back(
                std::make_shared<grant>(hold{keys_[at], request.owner, tokens[at]}, term_end)
            );
        }
        // Made before they are watched, which may lose them at once.
        multi_lease granted{std::make_shared<multi_lease::implementation>(session_, keys_, grants)};
        for (const auto& each : grants) {
            session_->watch(each, notices);
            session_->inner().tell(
                {event_kind::granted, each->what().key.name(), each->what().token.number, ""}
            );
        }
        return multi_acquisition{std::move(granted)};
    }

    // The answer to a try was lost. What the server knows now, if it can be asked; either way the
    // try may still be under way there, so the session keeps releasing what was not accepted.
    std::optional<std::vector<fencing_token>> ask_again(
        const acquire_all_request& request, const bounds& of_call
    ) {
        const auto settle_later = [&] {
            for (const key& each : keys_) session_->settle_later(each, request.owner);
        };
        try {
            auto found = session_->inner().use(of_call, [&](connection& on, store& stores) {
                return stores.multi_locks->find_grants(on, keys_, request.owner);
            });
            if (!found) settle_later();
            return found;
        } catch (const error& failure) {
            settle_later();
            throw error(
                failure.code(),
                "it is unknown whether " + label_of(keys_) +
                    " were acquired, and asking failed too: " + failure.what() +
                    "; the session releases them if they were",
                {failure.sqlstate(),
                 failure.native_code(),
                 failure.server_message(),
                 true,
                 failure.is_transient()}
            );
        }
    }

    const std::shared_ptr<session::implementation> session_;
    const std::vector<key> keys_;
    const multi_lock_settings settings_;
};

multi_lock::multi_lock(session& within, std::vector<key> keys, multi_lock_settings settings)
    : inner_(std::make_shared<implementation>(within, std::move(keys), settings)) {}
multi_lock::multi_lock(multi_lock&&) noexcept = default;
multi_lock& multi_lock::operator=(multi_lock&&) noexcept = default;
multi_lock::~multi_lock() = default;

multi_acquisition multi_lock::try_acquire() {
    return inner_->try_acquire();
}
multi_acquisition multi_lock::acquire(std::stop_token cancel) {
    return inner_->acquire_until(local_clock::time_point::max(), cancel);
}
multi_acquisition multi_lock::acquire_for(
    std::chrono::nanoseconds patience, std::stop_token cancel
) {
    return inner_->acquire_until(deadline_in(patience), cancel);
}
multi_acquisition multi_lock::acquire_until(
    local_clock::time_point deadline, std::stop_token cancel
) {
    return inner_->acquire_until(deadline, cancel);
}
const std::vector<key>& multi_lock::keys() const noexcept {
    return inner_->keys();
}

}  // namespace leasehold
