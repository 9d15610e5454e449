#include "leasehold/semaphore.hpp"

#include <algorithm>
#include <utility>

#include "leasehold/error.hpp"
#include "lock/counted.hpp"
#include "lock/lease.hpp"
#include "store/holder_store.hpp"

namespace leasehold {

class semaphore::implementation {
public:
    implementation(
        session& within, leasehold::key name, std::int64_t permits, semaphore_settings settings
    )
        : session_(within.inner()),
          key_(std::move(name)),
          permits_(permits),
          polls_(checked_polls(settings.poll_min, settings.poll_max)) {
        if (permits >= 1 && permits <= permits_max) return;
        throw error(
            errc::invalid_argument,
            "the semaphore '" + key_.name() + "' cannot have " + std::to_string(permits) +
                " permits: give it 1 to " + std::to_string(permits_max)
        );
    }

    const leasehold::key& key() const noexcept { return key_; }
    std::int64_t permits() const noexcept { return permits_; }

    acquisition try_acquire(std::int64_t wanted) {
        return seeker{session_, wish_for(wanted)}.try_once();
    }
    acquisition acquire(std::int64_t wanted, const wait_limit& limit) {
        return seeker{session_, wish_for(wanted)}.wait(limit, polls_);
    }

    // Asked again when the answer is lost: it says what shall be, not what shall change. What is
    // not known to be there any more must not be counted on, or a later call would take it back.
    void keep(lease& held, std::int64_t permits) {
        const std::shared_ptr<grant> reduced = grant_of(held);
        if (permits < 1 || permits > reduced->permits()) {
            throw error(
                errc::invalid_argument,
                "the lease of '" + key_.name() + "' has " + std::to_string(reduced->permits()) +
                    " permits and cannot keep " + std::to_string(permits)
            );
        }
        const session::implementation::under_way sending{*session_};
        const bounds of_call = session_->one_request();
        reduced->permits() = permits;
        const auto reduce = [&](int) {
            return session_->database().use(of_call, [&](connection& on, store& stores) {
                return stores.holders->reduce(on, reduced->what(), hold_mode::shared, permits);
            });
        };
        if (repeat(reduce, [&](const error&) { return !of_call.have_passed(); })) return;
        static_cast<void>(held.verify());  // tells whoever listens that it is lost
        refuse_lost();
    }

    std::int64_t free_permits() const {
        const auto holders = session_->database().use([&](connection& on, store& stores) {
            return stores.holders->holders_of(on, key_);
        });
        std::int64_t used = 0;
        for (const lock_info& each : holders) used += each.permits;
        return std::max(std::int64_t{0}, permits_ - used);
    }

private:
    [[noreturn]] void refuse_lost() const {
        throw error(
            errc::lease_lost,
            "the lease on '" + key_.name() + "' is not held any more; acquire it again"
        );
    }

    std::shared_ptr<grant> grant_of(const lease& held) const {
        const auto& inner = held.inner();
        const bool is_ours = inner && inner->belongs_to(*session_) && held.key() == key_ &&
                             inner->what().kind == lock_kind::semaphore;
        if (!is_ours) {
            throw error(
                errc::invalid_argument,
                "this lease is not one of the semaphore '" + key_.name() + "' in this session"
            );
        }
        if (inner->reason() != loss_reason::none) refuse_lost();
        return inner->granted();
    }

    hold_wish wish_for(std::int64_t wanted) const {
        if (wanted < 1 || wanted > permits_) {
            throw error(
                errc::invalid_argument,
                std::to_string(wanted) + " permits of '" + key_.name() +
                    "' cannot be acquired: it has " + std::to_string(permits_) + ", ask for 1 to " +
                    std::to_string(permits_)
            );
        }
        hold_wish wished{key_, lock_kind::semaphore};
        wished.permits = wanted;
        wished.capacity = permits_;
        return wished;
    }

    const std::shared_ptr<session::implementation> session_;
    const leasehold::key key_;
    const std::int64_t permits_;
    const polling polls_;
};

semaphore::semaphore(
    session& within, leasehold::key name, std::int64_t permits, semaphore_settings settings
)
    : inner_(std::make_shared<implementation>(within, std::move(name), permits, settings)) {}
semaphore::semaphore(semaphore&&) noexcept = default;
semaphore& semaphore::operator=(semaphore&&) noexcept = default;
semaphore::~semaphore() = default;

acquisition semaphore::try_acquire(std::int64_t wanted) {
    return inner_->try_acquire(wanted);
}
acquisition semaphore::acquire(std::int64_t wanted, std::stop_token cancel) {
    return inner_->acquire(wanted, {std::move(cancel)});
}
acquisition semaphore::acquire_for(
    std::chrono::nanoseconds patience, std::int64_t wanted, std::stop_token cancel
) {
    return inner_->acquire(wanted, {patience, std::move(cancel)});
}
acquisition semaphore::acquire_until(
    local_clock::time_point deadline, std::int64_t wanted, std::stop_token cancel
) {
    return inner_->acquire(wanted, {deadline, std::move(cancel)});
}

void semaphore::keep(lease& held, std::int64_t permits) {
    inner_->keep(held, permits);
}
std::int64_t semaphore::free_permits() const {
    return inner_->free_permits();
}
std::int64_t semaphore::permits() const noexcept {
    return inner_->permits();
}
const key& semaphore::key() const noexcept {
    return inner_->key();
}

}  // namespace leasehold
