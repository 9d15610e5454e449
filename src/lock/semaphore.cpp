#include "leasehold/semaphore.hpp"

#include <utility>

#include "leasehold/error.hpp"
#include "lock/counted.hpp"

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

private:
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

std::int64_t semaphore::permits() const noexcept {
    return inner_->permits();
}
const key& semaphore::key() const noexcept {
    return inner_->key();
}

}  // namespace leasehold
