#include "leasehold/mutex.hpp"

#include "core/thread_mutex.hpp"
#include "core/utf8.hpp"
#include "leasehold/error.hpp"
#include "lock/acquire.hpp"
#include "lock/keep_asking.hpp"
#include "lock/lease.hpp"
#include "lock/pending_lease.hpp"
#include "lock/queue.hpp"
#include "store/hold_store.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

void require_valid(const mutex_settings& settings) {
    if (settings.hold_at_most) require_valid_term(*settings.hold_at_most, "hold_at_most");
    if (settings.lock_delay < milliseconds{0} || settings.lock_delay > lock_delay_max) {
        throw error(errc::invalid_argument, "lock_delay must be 0 to 60 s");
    }
    constexpr std::size_t metadata_max = 4000;
    if (settings.metadata.size() > metadata_max || !is_utf8(settings.metadata) ||
        settings.metadata.find('\0') != std::string::npos) {
        throw error(
            errc::invalid_argument, "metadata must be UTF-8 of at most 4000 bytes, without NUL"
        );
    }
    checked_polls(settings.poll_min, settings.poll_max);
}

// Where it could not queue: others are queueing or handing over at this moment, or a proof is open.
constexpr polling after_refusals{milliseconds{2}, milliseconds{100}};

}  // namespace

class mutex::implementation {
public:
    implementation(session& within, leasehold::key name, mutex_settings settings)
        : session_(within.inner()), key_(std::move(name)), settings_(std::move(settings)) {
        require_valid(settings_);
    }

    const leasehold::key& key() const noexcept { return key_; }

    acquisition try_acquire() { return try_within(session_->one_request()); }

    acquisition try_within(const bounds& of_call) {
        if (!settings_.recursive) return wrap(try_once(*session_, wanted(), of_call));
        thread_guard guard{recursion_mutex_};
        std::shared_ptr<grant> gone;
        if (auto deeper = reenter(of_call, gone)) return acquisition{make_lease(std::move(deeper))};
        if (gone) {
            guard.unlock();  // whoever is told may release, or try again
            tell_lost(*gone);
            guard.lock();
        }
        auto outcome = try_once(*session_, wanted(), of_call);
        if (outcome.granted) remember(outcome.granted);
        return wrap(std::move(outcome));
    }

    static std::optional<pending_lease> try_acquire_in(
        const std::shared_ptr<implementation>& self, connection& inside
    ) {
        const auto enter_later = [of = std::weak_ptr{self}](const std::shared_ptr<grant>& held) {
            const auto alive = of.lock();
            if (!alive || !alive->settings_.recursive) return;
            const thread_guard guard{alive->recursion_mutex_};
            alive->remember(held);
        };
        return try_once_in(self->session_, self->wanted(), inside, enter_later);
    }

    acquisition acquire(const wait_limit& limit) {
        acquisition got = wait(limit);
        if (!got) tell_in_vain(*session_, key_, limit);
        return got;
    }

private:
    acquisition wait(const wait_limit& limit) {
        const bounds of_call = session_->call_until(limit.deadline, limit.cancel);
        if (!session_->has_begun() && !limit.cancel.stop_requested()) {
            acquisition first = try_to_begin(limit, of_call);
            if (first || limit.is_over()) return first;
            session_->begin_to_wait(of_call);
        }
        // A key that others wait for is queued for at once: whoever finds it free there is served.
        // Not so where a try may enter the key again.
        bool is_sought = !settings_.recursive && session_->database().room().sought().has(key_);
        const auto queue_up = [&](const acquisition& refused) -> std::optional<acquisition> {
            queue_outcome waited = wait_in_queue(*session_, wanted(), plan_until(limit));
            is_sought = !settings_.recursive && waited.end == queue_end::queue_again;
            if (waited.end == queue_end::granted) return keep(std::move(waited.granted));
            if (!limit.is_over()) return std::nullopt;
            if (waited.end == queue_end::left_queue || !refused.holder()) {
                return busy_now(refused.holder());
            }
            return acquisition{refused.holder(), key_};
        };
        const auto ask = [&] {
            if (!is_sought || limit.is_over()) return try_within(of_call);
            auto had = queue_up(acquisition{std::nullopt, key_});
            if (had) return *std::move(had);
            return is_sought ? acquisition{std::nullopt, key_} : try_within(of_call);
        };
        const auto meanwhile = [&](const acquisition& refused) {
            return is_sought ? std::nullopt : queue_up(refused);
        };
        acquisition nothing{std::nullopt, key_};
        return keep_asking(
            limit, after_refusals, session_->over(), std::move(nothing), ask, meanwhile
        );
    }

    wish wanted() const {
        return {key_, settings_.hold_at_most, settings_.lock_delay, settings_.metadata};
    }

    // The first try of a call that waits. What keeps the session from beginning is said.
    acquisition try_to_begin(const wait_limit& limit, const bounds& of_call) {
        try {
            return try_within(of_call);
        } catch (const error& failure) {
            const bool may_go_on = session_->has_begun() || limit.cancel.stop_requested();
            if (!may_go_on || !failure.is_transient() || limit.is_late()) throw;
        }
        return acquisition{std::nullopt, key_};
    }

    waiting_plan plan_until(const wait_limit& limit) {
        waiting_plan how{
            limit, {settings_.poll_min, settings_.poll_max}, settings_.detects_deadlock, nullptr};
        // Another thread of this object may have got the key meanwhile: then this one can enter.
        if (settings_.recursive) how.look_up = [this] { return is_entered(); };
        return how;
    }

    bool is_entered() {
        const thread_guard guard{recursion_mutex_};
        const auto held = current_.lock();
        return held && held->is_live();
    }

    void remember(const std::shared_ptr<grant>& granted) LEASEHOLD_REQUIRES(recursion_mutex_) {
        granted->is_recursive() = true;
        current_ = granted;
    }

    acquisition keep(std::shared_ptr<grant> granted) {
        if (settings_.recursive) {
            const thread_guard guard{recursion_mutex_};
            remember(granted);
        }
        return acquisition{make_lease(std::move(granted))};
    }

    // Who has the key when the wait was in vain; it may have changed hands often meanwhile. Where
    // that cannot be asked, who had it.
    acquisition busy_now(const std::optional<lock_info>& before) const {
        std::optional<described_hold> now;
        try {
            now = session_->database().use(session_->parting(), [&](connection& on, store& stores) {
                return stores.holds->describe(on, key_, true);
            });
        } catch (const error& failure) {
            if (!failure.is_transient()) throw;
            return acquisition{before, key_};
        }
        if (!now || !now->info.is_held) return acquisition{std::nullopt, key_};
        return acquisition{std::move(now->info), key_};
    }

    // The current grant, one level deeper in its row; nothing where there is none to enter. In
    // `gone` the one that turned out to be lost.
    std::shared_ptr<grant> reenter(const bounds& of_call, std::shared_ptr<grant>& gone)
        LEASEHOLD_REQUIRES(recursion_mutex_) {
        auto held = current_.lock();
        const session::implementation::under_way sending{*session_};
        if (!held || !held->is_live()) return nullptr;
        const thread_guard guard{held->depth().mutex};
        if (held->depth().count == 0) return nullptr;
        std::optional<std::int64_t> count;
        try {
            count = session_->database().use(of_call, [&](connection& on, store& stores) {
                return stores.holds->reenter(on, held->what());
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
        session_->database().tell(loss_of(gone, loss_reason::taken_over));
    }

    lease make_lease(std::shared_ptr<grant> granted) const {
        return lease{std::make_shared<lease::implementation>(session_, std::move(granted))};
    }
    acquisition wrap(try_outcome outcome) const {
        if (outcome.granted) return acquisition{make_lease(std::move(outcome.granted))};
        return acquisition{std::move(outcome.holder), key_};
    }

    const std::shared_ptr<session::implementation> session_;
    const leasehold::key key_;
    const mutex_settings settings_;
    // One of this object's recursive tries at a time. A lease that is lost meanwhile is told within
    // the try, and whoever is told may try again: the key is busy for him.
    recursive_thread_mutex recursion_mutex_;
    std::weak_ptr<grant> current_ LEASEHOLD_GUARDED_BY(recursion_mutex_);
};

mutex::mutex(session& within, leasehold::key name, mutex_settings settings)
    : inner_(std::make_shared<implementation>(within, std::move(name), std::move(settings))) {}
mutex::mutex(mutex&&) noexcept = default;
mutex& mutex::operator=(mutex&&) noexcept = default;
mutex::~mutex() = default;

acquisition mutex::try_acquire() {
    return inner_->try_acquire();
}

acquisition mutex::acquire(std::stop_token cancel) {
    return inner_->acquire({std::move(cancel)});
}

acquisition mutex::acquire_for(std::chrono::nanoseconds patience, std::stop_token cancel) {
    return inner_->acquire({patience, std::move(cancel)});
}

acquisition mutex::acquire_until(local_clock::time_point deadline, std::stop_token cancel) {
    return inner_->acquire({deadline, std::move(cancel)});
}

std::optional<pending_lease> mutex::try_acquire_in(transaction_ref tx) {
    return implementation::try_acquire_in(inner_, tx.inside());
}

const key& mutex::key() const noexcept {
    return inner_->key();
}

}  // namespace leasehold
