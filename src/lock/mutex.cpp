#include "leasehold/mutex.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "core/jitter.hpp"
#include "leasehold/error.hpp"
#include "lock/acquire.hpp"
#include "lock/lease.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

void require_valid(const mutex_settings& settings) {
    using std::chrono::hours;
    if (settings.hold_at_most) {
        const auto term = *settings.hold_at_most;
        if (term < milliseconds{1} || term > hours{366 * 24}) {
            throw error(errc::invalid_argument, "hold_at_most must be 1 ms to 366 days");
        }
    }
    if (settings.poll_min < milliseconds{1} || settings.poll_max < settings.poll_min ||
        settings.poll_max > hours{1}) {
        throw error(
            errc::invalid_argument, "poll_min must be 1 ms to poll_max, and poll_max at most 1 h"
        );
    }
}

// Sleeps until `wake`, or until one of the two asks to stop.
void rest(local_clock::time_point wake, std::stop_token cancel, std::stop_token lost) {
    std::mutex mutex;
    std::condition_variable_any changed;
    const std::stop_callback on_loss{lost, [&] {
                                         const std::lock_guard guard{mutex};
                                         changed.notify_all();
                                     }};
    std::unique_lock guard{mutex};
    changed.wait_for(guard, cancel, wake - local_clock::now(), [&] {
        return lost.stop_requested();
    });
}

}  // namespace

class mutex::implementation {
public:
    implementation(session& within, leasehold::key name, mutex_settings settings)
        : session_(within.inner()), key_(std::move(name)), settings_(settings) {
        require_valid(settings_);
    }

    const leasehold::key& key() const noexcept { return key_; }

    acquisition try_acquire() {
        if (!settings_.recursive) return wrap(try_once(*session_, key_, settings_.hold_at_most));
        std::unique_lock guard{recursion_mutex_};
        std::shared_ptr<grant> gone;
        if (auto deeper = reenter(gone)) return acquisition{make_lease(std::move(deeper))};
        if (gone) {
            guard.unlock();  // whoever is told may release, or try again
            tell_lost(*gone);
            guard.lock();
        }
        auto outcome = try_once(*session_, key_, settings_.hold_at_most);
        current_ = outcome.granted;
        return wrap(std::move(outcome));
    }

    acquisition acquire_until(local_clock::time_point deadline, std::stop_token cancel) {
        for (int refusals = 1;; ++refusals) {
            std::optional<lock_info> holder;
            try {
                acquisition got = try_acquire();
                if (got) return got;
                holder = got.holder();
            } catch (const error& failure) {
                // A server that restarts ends no wait; the session's own deadline does.
                if (!failure.is_transient() || local_clock::now() >= deadline) throw;
            }
            const auto now = local_clock::now();
            if (now >= deadline || cancel.stop_requested()) return acquisition{holder};
            rest(std::min(deadline, now + pause(refusals)), cancel, session_->lost());
            if (cancel.stop_requested()) return acquisition{holder};
        }
    }

private:
    std::chrono::nanoseconds pause(int refusals) const {
        return backed_off(refusals, settings_.poll_min, settings_.poll_max);
    }

    // The current grant, one level deeper in its row; nothing where there is none to enter. In
    // `gone` the one that turned out to be lost.
    std::shared_ptr<grant> reenter(std::shared_ptr<grant>& gone) {
        auto held = current_.lock();
        if (!held || !held->is_live()) return nullptr;
        const std::lock_guard guard{held->depth().mutex};
        if (held->depth().count == 0) return nullptr;
        std::optional<std::int64_t> count;
        try {
            count = session_->inner().use([&](connection& on, store& stores) {
                return stores.locks->reenter(on, held->what());
            });
        } catch (const error&) {
            held->depth().is_uncertain = true;
            throw;
        }
        if (!count) {
            session_->forget(*held);
            gone = std::move(held);
            return nullptr;
        }
        ++held->depth().count;
        return held;
    }

    void tell_lost(grant& gone) const {
        if (!gone.lose(loss_reason::taken_over)) return;
        const hold& what = gone.what();
        session_->inner().tell({event_kind::lost, what.key.name(), what.token.number, "taken_over"}
        );
    }

    lease make_lease(std::shared_ptr<grant> granted) const {
        return lease{std::make_shared<lease::implementation>(session_, std::move(granted))};
    }
    acquisition wrap(try_outcome outcome) const {
        if (outcome.granted) return acquisition{make_lease(std::move(outcome.granted))};
        return acquisition{std::move(outcome.holder)};
    }

    const std::shared_ptr<session::implementation> session_;
    const leasehold::key key_;
    const mutex_settings settings_;
    std::mutex recursion_mutex_;  // one of this object's recursive tries at a time
    std::weak_ptr<grant> current_;
};

mutex::mutex(session& within, leasehold::key name, mutex_settings settings)
    : inner_(std::make_shared<implementation>(within, std::move(name), settings)) {}
mutex::mutex(mutex&&) noexcept = default;
mutex& mutex::operator=(mutex&&) noexcept = default;
mutex::~mutex() = default;

acquisition mutex::try_acquire() {
    return inner_->try_acquire();
}

acquisition mutex::acquire(std::stop_token cancel) {
    return inner_->acquire_until(local_clock::time_point::max(), std::move(cancel));
}

acquisition mutex::acquire_for(std::chrono::nanoseconds patience, std::stop_token cancel) {
    const auto now = local_clock::now();
    const auto room = local_clock::time_point::max() - now;
    return inner_->acquire_until(now + std::min(patience, room), std::move(cancel));
}

acquisition mutex::acquire_until(local_clock::time_point deadline, std::stop_token cancel) {
    return inner_->acquire_until(deadline, std::move(cancel));
}

const key& mutex::key() const noexcept {
    return inner_->key();
}

}  // namespace leasehold
