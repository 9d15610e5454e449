#include "leasehold/shared_mutex.hpp"

#include <utility>

#include "core/wait_by.hpp"
#include "leasehold/error.hpp"
#include "locks/counted.hpp"
#include "locks/holder_store.hpp"
#include "locks/lease.hpp"

namespace leasehold {
namespace {

// Readers cannot use it up, and a writer wants all of it.
constexpr std::int64_t everything = 1'000'000'000;

}  // namespace

class shared_mutex::implementation {
public:
    implementation(session& within, leasehold::key name, shared_mutex_settings settings)
        : session_(within.inner()),
          key_(std::move(name)),
          polls_(checked_polls(settings.min_poll, settings.max_poll)) {}

    const leasehold::key& key() const noexcept { return key_; }

    acquisition try_acquire(hold_mode mode) { return seeker{session_, wish_for(mode)}.try_once(); }
    acquisition acquire(hold_mode mode, const wait_limit& limit) {
        return seeker{session_, wish_for(mode)}.wait(limit, polls_);
    }

    acquisition try_upgrade(lease& from) {
        return upgrade(from, [](seeker& by) { return by.try_once(); });
    }
    acquisition upgrade(lease& from, const wait_limit& limit) {
        return upgrade(from, [&](seeker& by) { return by.wait(limit, polls_); });
    }

private:
    template <class Seek>
    acquisition upgrade(lease& from, Seek&& seek) {
        const std::shared_ptr<grant> held =
            grant_of(from, *session_, key_, lock_kind::shared_mutex);
        if (held->mode() != hold_mode::upgradeable) {
            throw error(
                errc::invalid_argument,
                "only an upgradeable lease can become exclusive, and this one on '" + key_.name() +
                    "' is " + name_of(held->mode()) + ": use acquire_upgradeable()"
            );
        }
        hold_wish wished = wish_for(hold_mode::exclusive);
        wished.instead_of = held;
        seeker by{session_, wished};
        acquisition got = seek(by);
        if (got) from.inner()->supersede();
        return got;
    }

public:
    void downgrade(lease& from) {
        const std::shared_ptr<grant> held =
            grant_of(from, *session_, key_, lock_kind::shared_mutex);
        const session::implementation::under_way sending{*session_};
        if (!held->is_live()) refuse_lost(key_);  // or detached, just before this was under way
        reduce(*session_, from, hold_mode::shared, 1);
        held->mode() = hold_mode::shared;
    }

private:
    hold_wish wish_for(hold_mode mode) const {
        hold_wish wished{key_, lock_kind::shared_mutex, mode};
        wished.capacity = everything;
        switch (mode) {
            case hold_mode::shared:
                wished.gives_way_to = holder_bits::waiting;
                break;
            case hold_mode::upgradeable:
                wished.gives_way_to = holder_bits::waiting | holder_bits::upgradeable;
                break;
            case hold_mode::exclusive:
                wished.permits = everything;
                wished.announces_itself = true;
                break;
        }
        return wished;
    }

    const std::shared_ptr<session::implementation> session_;
    const leasehold::key key_;
    const polling polls_;
};

shared_mutex::shared_mutex(session& within, leasehold::key name, shared_mutex_settings settings)
    : inner_(std::make_shared<implementation>(within, std::move(name), settings)) {}
shared_mutex::shared_mutex(shared_mutex&&) noexcept = default;
shared_mutex& shared_mutex::operator=(shared_mutex&&) noexcept = default;
shared_mutex::~shared_mutex() = default;

acquisition shared_mutex::try_acquire() {
    return inner_->try_acquire(hold_mode::exclusive);
}
acquisition shared_mutex::acquire(std::stop_token cancel) {
    return inner_->acquire(hold_mode::exclusive, {std::move(cancel)});
}
acquisition shared_mutex::acquire_for(wait_time timeout, std::stop_token cancel) {
    return inner_->acquire(hold_mode::exclusive, {timeout, std::move(cancel)});
}
acquisition shared_mutex::acquire_until(wait_deadline deadline, std::stop_token cancel) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->acquire(hold_mode::exclusive, {by, cancel});
    });
}

acquisition shared_mutex::try_acquire_shared() {
    return inner_->try_acquire(hold_mode::shared);
}
acquisition shared_mutex::acquire_shared(std::stop_token cancel) {
    return inner_->acquire(hold_mode::shared, {std::move(cancel)});
}
acquisition shared_mutex::acquire_shared_for(wait_time timeout, std::stop_token cancel) {
    return inner_->acquire(hold_mode::shared, {timeout, std::move(cancel)});
}
acquisition shared_mutex::acquire_shared_until(wait_deadline deadline, std::stop_token cancel) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->acquire(hold_mode::shared, {by, cancel});
    });
}

acquisition shared_mutex::try_acquire_upgradeable() {
    return inner_->try_acquire(hold_mode::upgradeable);
}
acquisition shared_mutex::acquire_upgradeable(std::stop_token cancel) {
    return inner_->acquire(hold_mode::upgradeable, {std::move(cancel)});
}
acquisition shared_mutex::acquire_upgradeable_for(wait_time timeout, std::stop_token cancel) {
    return inner_->acquire(hold_mode::upgradeable, {timeout, std::move(cancel)});
}
acquisition shared_mutex::acquire_upgradeable_until(
    wait_deadline deadline, std::stop_token cancel
) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->acquire(hold_mode::upgradeable, {by, cancel});
    });
}

acquisition shared_mutex::try_upgrade(lease&& from) {
    return inner_->try_upgrade(from);
}
acquisition shared_mutex::upgrade(lease&& from, std::stop_token cancel) {
    return inner_->upgrade(from, {std::move(cancel)});
}
acquisition shared_mutex::upgrade_until(
    lease&& from, wait_deadline deadline, std::stop_token cancel
) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->upgrade(from, {by, cancel});
    });
}
acquisition shared_mutex::upgrade_for(lease&& from, wait_time timeout, std::stop_token cancel) {
    return inner_->upgrade(from, {timeout, std::move(cancel)});
}

void shared_mutex::downgrade(lease& held) {
    inner_->downgrade(held);
}

const key& shared_mutex::key() const& {
    return inner_->key();
}

}  // namespace leasehold
