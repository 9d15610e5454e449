#include "leasehold/semaphore.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/wait_by.hpp"
#include "leasehold/error.hpp"
#include "locks/acquire.hpp"
#include "locks/counted.hpp"
#include "locks/holder_store.hpp"
#include "locks/lease.hpp"

namespace leasehold {

class semaphore::implementation {
public:
    implementation(
        session& within, leasehold::key name, std::int64_t permits, semaphore_settings settings
    )
        : session_(within.inner()),
          key_(std::move(name)),
          permits_(permits),
          follows_key_(settings.follows_key),
          max_hold_(settings.max_hold),
          polls_(checked_polls(settings.min_poll, settings.max_poll)) {
        require_possible(permits);
        if (max_hold_) require_valid_term(*max_hold_, "max_hold");
    }

    const leasehold::key& key() const noexcept { return key_; }
    std::int64_t permits() const noexcept { return permits_; }

    acquisition try_acquire(std::int64_t wanted) {
        return seek_with(wanted, [](seeker& each) { return each.try_once(); });
    }
    acquisition acquire(std::int64_t wanted, const wait_limit& limit) {
        return seek_with(wanted, [&](seeker& each) { return each.wait(limit, polls_); });
    }

    // Each time that neither works, somebody else has changed the key in between.
    void set_permits(std::int64_t permits) {
        constexpr int max_tries = 8;
        require_possible(permits);
        session_->require_live();
        for (int tries = 0; tries < max_tries; ++tries) {
            if (resize(permits) || make_header(permits)) {
                permits_ = permits;
                return;
            }
        }
        throw error(
            errc::transient,
            "'" + key_.name() + "' is used in one way and another, and its permits could not be " +
                "set: set them again"
        );
    }

    // The lease must not count permits that it may have given up, or a later call would take them
    // back.
    void shrink_to(lease& held, std::int64_t permits) {
        const std::shared_ptr<grant> reduced =
            grant_of(held, *session_, key_, lock_kind::semaphore);
        if (permits < 1 || permits > reduced->permits()) {
            throw error(
                errc::invalid_argument,
                "the lease of '" + key_.name() + "' has " + std::to_string(reduced->permits()) +
                    " permits and cannot keep " + std::to_string(permits)
            );
        }
        const session::implementation::under_way sending{*session_};
        if (!reduced->is_live()) refuse_lost(key_);  // or detached, just before this was under way
        reduced->permits() = permits;
        reduce(*session_, held, hold_mode::shared, permits);
    }

    std::int64_t free_permits() const {
        const auto holders = session_->database().ask(bounds{}, &holder_store::holders_of, key_);
        std::int64_t used = 0;
        for (const lock_info& each : holders) used += each.permits;
        return std::max(std::int64_t{0}, permits_now(used > 0) - used);
    }

private:
    void require_possible(std::int64_t permits) const {
        if (permits >= 1 && permits <= max_permits) return;
        throw error(
            errc::invalid_argument,
            "the semaphore '" + key_.name() + "' cannot have " + std::to_string(permits) +
                " permits: give it 1 to " + std::to_string(max_permits)
        );
    }

    // A follower remembers what it has seen of the key, also if it throws.
    template <class Seek>
    acquisition seek_with(std::int64_t wanted, Seek seek) {
        seeker each{session_, wish_for(wanted)};
        struct memory {
            implementation& of;
            const seeker& with;
            const std::int64_t began_with;
            ~memory() {
                const auto seen = with.capacity();
                if (of.follows_key_ && seen != began_with) of.permits_ = seen;
            }
        } const kept{*this, each, each.capacity()};
        return seek(each);
    }

    // Sent again when the answer is lost: it sets a number, so that repeating is harmless.
    bool resize(std::int64_t permits) {
        const bounds of_call = session_->one_request();
        const auto send = [&](int) {
            return session_->database().ask(
                of_call, &holder_store::resize, key_, lock_kind::semaphore, permits
            );
        };
        return repeat(send, [&](const error&) { return !of_call.have_passed(); });
    }

    // Makes the key a semaphore by acquiring a permit, if there is a free one. False if it is one
    // already.
    bool make_header(std::int64_t permits) {
        hold_wish wished{key_, lock_kind::semaphore};
        wished.capacity = permits;
        wished.follows_key = true;
        seeker first{session_, std::move(wished)};
        const acquisition got = first.try_once();
        return got && first.capacity() == permits;
    }

    // If nobody uses the key, and this does not follow it, the next grant sets its number.
    std::int64_t permits_now(bool is_used) const {
        if (!follows_key_ && !is_used) return permits_;
        const auto seen = session_->database().ask(bounds{}, &holder_store::tally, key_);
        const bool is_known = seen && seen->kind == lock_kind::semaphore;
        return is_known ? seen->capacity : permits_.load();
    }

    hold_wish wish_for(std::int64_t wanted) const {
        hold_wish wished{key_, lock_kind::semaphore};
        wished.permits = wanted;
        wished.capacity = permits_;
        wished.follows_key = follows_key_;
        wished.max_hold = max_hold_;
        const bool may_have_changed = follows_key_ && wanted <= max_permits;
        if (wanted < 1 || (wanted > permits_ && !may_have_changed)) refuse_more_than_all(wished);
        return wished;
    }

    const std::shared_ptr<session::implementation> session_;
    const leasehold::key key_;
    std::atomic<std::int64_t> permits_;
    const bool follows_key_;
    const std::optional<std::chrono::microseconds> max_hold_;
    const polling polls_;
};

semaphore::semaphore(
    session& within, leasehold::key name, whole_count permits, semaphore_settings settings
)
    : inner_(std::make_shared<implementation>(within, std::move(name), permits, settings)) {}
semaphore::semaphore(semaphore&&) noexcept = default;
semaphore& semaphore::operator=(semaphore&&) noexcept = default;
semaphore::~semaphore() = default;

acquisition semaphore::try_acquire(whole_count wanted) {
    return inner_->try_acquire(wanted);
}
acquisition semaphore::acquire(whole_count wanted, std::stop_token cancel) {
    return inner_->acquire(wanted, {std::move(cancel)});
}
acquisition semaphore::acquire_for(wait_time timeout, whole_count wanted, std::stop_token cancel) {
    return inner_->acquire(wanted, {timeout, std::move(cancel)});
}
acquisition semaphore::acquire_until(
    wait_deadline deadline, whole_count wanted, std::stop_token cancel
) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->acquire(wanted, {by, cancel});
    });
}

void semaphore::shrink_to(lease& held, whole_count permits) {
    inner_->shrink_to(held, permits);
}
void semaphore::set_permits(whole_count permits) {
    inner_->set_permits(permits);
}
std::int64_t semaphore::free_permits() const {
    return inner_->free_permits();
}
std::int64_t semaphore::permits() const {
    return inner_->permits();
}
const key& semaphore::key() const& {
    return inner_->key();
}

}  // namespace leasehold
