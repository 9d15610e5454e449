#pragma once
// The implementation of a leasehold::mutex. mutex_wait.hpp waits for it.
#include <memory>
#include <optional>
#include <utility>

#include "core/thread_mutex.hpp"
#include "leasehold/mutex.hpp"
#include "locks/acquire.hpp"
#include "locks/keep_asking.hpp"
#include "locks/pending_lease.hpp"

namespace leasehold {

class mutex::implementation {
public:
    implementation(leasehold::session& within, leasehold::key name, mutex_settings settings);

    const leasehold::key& key() const noexcept { return key_; }
    const mutex_settings& settings() const noexcept { return settings_; }
    leasehold::session::implementation& session() const noexcept { return *session_; }

    acquisition try_acquire() { return try_within(session_->one_request()); }
    acquisition try_within(const bounds& of_call);
    static pending_acquisition try_acquire_in(
        const std::shared_ptr<implementation>& self, connection& inside
    );
    acquisition acquire(const wait_limit& limit);

    wish wanted() const {
        return {key_, settings_.fixed_term, settings_.lock_delay, settings_.metadata};
    }
    // True when a thread has the key of a recursive mutex: then others can enter.
    bool is_entered();
    // Makes the lease of a grant to a call that waited.
    acquisition keep(std::shared_ptr<grant> granted);
    // The present holder of the key, after a wait in vain: it may have changed meanwhile. If the
    // database cannot be asked, `before`.
    acquisition busy_now(const std::optional<lock_info>& before) const;

private:
    void remember(const std::shared_ptr<grant>& granted) LEASEHOLD_REQUIRES(recursion_mutex_) {
        granted->is_recursive() = true;
        current_ = granted;
    }
    // The current grant, whose row now counts one more level; null if there is no grant to enter.
    // `gone` gets a grant that turned out to be lost.
    std::shared_ptr<grant> reenter(const bounds& of_call, std::shared_ptr<grant>& gone)
        LEASEHOLD_REQUIRES(recursion_mutex_);
    void tell_lost(grant& gone) const;
    lease make_lease(std::shared_ptr<grant> granted) const;
    acquisition wrap(try_outcome outcome) const;

    const std::shared_ptr<leasehold::session::implementation> session_;
    const leasehold::key key_;
    const mutex_settings settings_;
    // Admits one of this object's recursive tries at a time. The try itself tells of a lease that
    // is lost meanwhile, and a callback may try again: the key is busy for it.
    recursive_thread_mutex recursion_mutex_;
    std::weak_ptr<grant> current_ LEASEHOLD_GUARDED_BY(recursion_mutex_);
};

// Waits as acquire() does, without a thread of the caller's: unattended_acquire.cpp.
void acquire_unattended(
    std::shared_ptr<mutex::implementation> of, async_wait how, acquire_completion done
);

}  // namespace leasehold
