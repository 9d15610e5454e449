#include "locks/mutex.hpp"

#include "core/handle_maker.hpp"
#include "core/utf8.hpp"
#include "core/wait_by.hpp"
#include "leasehold/error.hpp"
#include "locks/hold_store.hpp"
#include "locks/lease.hpp"
#include "locks/mutex_wait.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

void require_valid(const mutex_settings& settings) {
    if (settings.fixed_term) require_valid_term(*settings.fixed_term, "fixed_term");
    if (settings.lock_delay < milliseconds{0} || settings.lock_delay > max_lock_delay) {
        throw error(errc::invalid_argument, "lock_delay must be 0 to 60 s");
    }
    constexpr std::size_t max_metadata = 4000;
    if (settings.metadata.size() > max_metadata || !is_utf8(settings.metadata) ||
        settings.metadata.find('\0') != std::string::npos) {
        throw error(
            errc::invalid_argument, "metadata must be UTF-8 of at most 4000 bytes, without NUL"
        );
    }
    checked_polls(settings.min_poll, settings.max_poll);
}

}  // namespace

mutex::implementation::implementation(
    leasehold::session& within, leasehold::key name, mutex_settings settings
)
    : session_(within.inner()), key_(std::move(name)), settings_(std::move(settings)) {
    require_valid(settings_);
}

acquisition mutex::implementation::try_within(const bounds& of_call) {
    if (!settings_.recursive) return wrap(try_once(*session_, wanted(), of_call));
    thread_guard guard{recursion_mutex_};
    std::shared_ptr<grant> gone;
    if (auto deeper = reenter(of_call, gone)) return acquisition{make_lease(std::move(deeper))};
    if (gone) {
        guard.unlock();  // a callback may release, or try again
        tell_lost(*gone);
        guard.lock();
    }
    auto outcome = try_once(*session_, wanted(), of_call);
    if (outcome.granted) remember(outcome.granted);
    return wrap(std::move(outcome));
}

pending_acquisition mutex::implementation::try_acquire_in(
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

acquisition mutex::implementation::acquire(const wait_limit& limit) {
    mutex_wait call{*this, limit};
    while (true) {
        if (auto got = call.go_on()) return *std::move(got);
        call.wait();
    }
}

bool mutex::implementation::is_entered() {
    const thread_guard guard{recursion_mutex_};
    const auto held = current_.lock();
    return held && held->is_live();
}

acquisition mutex::implementation::keep(std::shared_ptr<grant> granted) {
    if (settings_.recursive) {
        const thread_guard guard{recursion_mutex_};
        remember(granted);
    }
    return acquisition{make_lease(std::move(granted))};
}

acquisition mutex::implementation::busy_now(const std::optional<lock_info>& before) const {
    std::optional<described_hold> now;
    try {
        now = session_->database().ask(session_->parting(), &hold_store::describe, key_, true);
    } catch (const error& failure) {
        if (!failure.is_transient()) throw;
        return acquisition{before, key_};
    }
    if (!now || !now->info.is_held) return acquisition{std::nullopt, key_};
    return acquisition{std::move(now->info), key_};
}

std::shared_ptr<grant> mutex::implementation::reenter(
    const bounds& of_call, std::shared_ptr<grant>& gone
) {
    auto held = current_.lock();
    const leasehold::session::implementation::under_way sending{*session_};
    if (!held || !held->is_live()) return nullptr;
    const thread_guard guard{held->depth().mutex};
    if (held->depth().count == 0) return nullptr;
    std::optional<std::int64_t> count;
    try {
        count = session_->database().ask(of_call, &hold_store::reenter, held->what());
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

void mutex::implementation::tell_lost(grant& gone) const {
    if (!gone.lose(loss_reason::taken_over)) return;
    session_->database().tell(loss_of(gone, loss_reason::taken_over));
}

lease mutex::implementation::make_lease(std::shared_ptr<grant> granted) const {
    return handle_maker::share<lease>(session_, std::move(granted));
}

acquisition mutex::implementation::wrap(try_outcome outcome) const {
    if (outcome.granted) return acquisition{make_lease(std::move(outcome.granted))};
    return acquisition{std::move(outcome.holder), key_};
}

// ----------------------------------------------------------------------------------- the handle

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

acquisition mutex::acquire_for(wait_time timeout, std::stop_token cancel) {
    return inner_->acquire({timeout, std::move(cancel)});
}

acquisition mutex::acquire_until(wait_deadline deadline, std::stop_token cancel) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->acquire({by, cancel});
    });
}

void mutex::acquire_async(async_wait how, acquire_completion done) {
    acquire_unattended(inner_, std::move(how), std::move(done));
}

pending_acquisition mutex::try_acquire_in(transaction_ref tx) {
    return implementation::try_acquire_in(inner_, tx.inside());
}

const key& mutex::key() const& {
    return inner_->key();
}

}  // namespace leasehold
