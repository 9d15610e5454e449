#include "leasehold/multi_lock.hpp"

#include <algorithm>
#include <utility>

#include "core/handle_maker.hpp"
#include "core/wait_by.hpp"
#include "leasehold/error.hpp"
#include "locks/acquire.hpp"
#include "locks/attempt.hpp"
#include "locks/keep_asking.hpp"
#include "locks/multi_lease.hpp"
#include "locks/multi_lock_store.hpp"

namespace leasehold {
namespace {

std::vector<key> checked(std::vector<key> keys) {
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (!keys.empty() && keys.size() <= multi_lock::max_keys) return keys;
    throw error(
        errc::invalid_argument,
        "a multi_lock takes 1 to " + std::to_string(multi_lock::max_keys) +
            " different keys, not " + std::to_string(keys.size())
    );
}

multi_lock_settings checked(multi_lock_settings settings) {
    checked_polls(settings.min_poll, settings.max_poll);
    if (settings.fixed_term) require_valid_term(*settings.fixed_term, "fixed_term");
    return settings;
}

multi_acquisition refused(std::optional<lock_info> holder, const std::vector<key>& wanted) {
    std::string names;
    for (const key& each : wanted) names += (names.empty() ? "" : "', '") + each.name();
    return multi_acquisition{refused_try{std::move(holder), names}};
}

class set_attempt final : grant_attempt {
public:
    set_attempt(
        const std::shared_ptr<session::implementation>& within,
        const std::vector<key>& keys,
        const std::optional<std::chrono::microseconds>& fixed_term
    )
        : grant_attempt(*within), session_(within), keys_(keys), fixed_term_(fixed_term) {}

    multi_acquisition outcome(const bounds& of_call) {
        if (carry_through(of_call)) return multi_acquisition{std::move(granted_).value()};
        const std::string first = answer_.holder ? answer_.holder->key : keys_.front().name();
        session_->database().tell({event_kind::refused, first, 0, "", event_reason::busy});
        return refused(std::move(answer_.holder), keys_);
    }

private:
    void prepare() override { owner_ = owner_id::random(); }

    attempt_event send(const bounds& of_call) override {
        const acquire_all_request request{
            keys_, owner_, session_->id(), session_->node_info(), fixed_term_};
        answer_ = session_->database().use(of_call, [&](connection& on, store_set& stores) {
            auto said = stores.get<multi_lock_store>().try_acquire_all(on, request);
            if (said.status == acquire_all_status::wrong_kind) {
                become_mutex(on, stores, said.misused.value(), said.kind);
            }
            return said;
        });
        switch (answer_.status) {
            case acquire_all_status::granted:
                return attempt_event::granted;
            case acquire_all_status::session_ended:
                return attempt_event::session_ended;
            case acquire_all_status::wrong_kind:
                return attempt_event::cleared;
            case acquire_all_status::busy:
                break;
        }
        return attempt_event::refused;
    }

    bool find(const bounds& of_call) override {
        auto found = session_->database().ask(of_call, &hold_store::find_grants, keys_, owner_);
        if (!found) return false;
        answer_.tokens = *std::move(found);
        return true;
    }

    void settle() override {
        for (const key& each : keys_) session_->settle_later(each, owner_);
    }

    void accept() override {
        std::optional<local_clock::time_point> term_end;
        if (fixed_term_) {
            term_end = sent_at() + *fixed_term_ - margin_of(*session_, *fixed_term_);
        }
        std::vector<std::shared_ptr<grant>> grants;
        for (std::size_t at = 0; at < keys_.size(); ++at) {
            grants.push_back(
                std::make_shared<grant>(hold{keys_[at], owner_, answer_.tokens[at]}, term_end)
            );
        }
        // Made before the grants are watched, which may lose them at once.
        granted_.emplace(handle_maker::share<multi_lease>(session_, keys_, grants));
        for (const auto& each : grants) {
            session_->watch(each, notices());
            tell_granted(*session_, *each, way_to_grant{.asked = asked()});
        }
    }

    // Each key may have been used as something else until now.
    std::size_t max_clearings() const override { return keys_.size(); }
    const key& first_key() const override { return keys_.front(); }
    std::string label() const override { return label_of(keys_); }
    bool is_one() const override { return false; }

    const std::shared_ptr<session::implementation>& session_;
    const std::vector<key>& keys_;
    const std::optional<std::chrono::microseconds>& fixed_term_;
    owner_id owner_;
    acquire_all_result answer_;
    std::optional<multi_lease> granted_;
};

}  // namespace

class multi_lock::implementation {
public:
    implementation(session& within, std::vector<key> keys, multi_lock_settings settings)
        : session_(within.inner()), keys_(checked(std::move(keys))), settings_(checked(settings)) {}

    const std::vector<key>& keys() const noexcept { return keys_; }

    multi_acquisition try_acquire() { return try_within(session_->one_request()); }

    multi_acquisition try_within(const bounds& of_call) {
        return set_attempt{session_, keys_, settings_.fixed_term}.outcome(of_call);
    }

    multi_acquisition acquire(const wait_limit& limit) {
        const bounds of_call = session_->call_until(limit.deadline, limit.cancel);
        const polling polls{settings_.min_poll, settings_.max_poll};
        multi_acquisition nothing = refused(std::nullopt, keys_);
        session_->begin_to_wait(of_call);
        multi_acquisition got = keep_asking(
            limit, polls, session_->over(), std::move(nothing), [&] { return try_within(of_call); }
        );
        if (!got) tell_in_vain(*session_, keys_.front(), limit);
        return got;
    }

private:
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
    return inner_->acquire({std::move(cancel)});
}
multi_acquisition multi_lock::acquire_for(wait_time timeout, std::stop_token cancel) {
    return inner_->acquire({timeout, std::move(cancel)});
}
multi_acquisition multi_lock::acquire_until(wait_deadline deadline, std::stop_token cancel) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->acquire({by, cancel});
    });
}
const std::vector<key>& multi_lock::keys() const& {
    return inner_->keys();
}

}  // namespace leasehold
