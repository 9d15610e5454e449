#pragma once
// The implementation of a leasehold::lease: one level of a grant, and how it is given back.
#include <memory>
#include <stop_token>

#include "core/thread_mutex.hpp"
#include "leasehold/lease.hpp"
#include "locks/holding.hpp"
#include "session/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

struct detached_lease;

class lease::implementation final : public holding {
public:
    implementation(std::shared_ptr<session::implementation> within, std::shared_ptr<grant> granted);

    const hold& what() const noexcept { return first_->what(); }

    bool verify();
    // True when the database says so now.
    bool is_there(connection& on, store_set& stores) const;
    bool extend(std::chrono::microseconds term);
    void verify_in(connection& inside);
    release_outcome give_back(bool is_parting) override;
    std::stop_token revoke_requested() const noexcept { return first_->revoke_requested(); }

    // The number of levels, for detach().
    int levels() const;
    session::implementation& within() const noexcept { return *session_; }

    const std::shared_ptr<grant>& granted() const noexcept { return first_; }
    bool belongs_to(const session::implementation& within) const noexcept {
        return session_.get() == &within;
    }
    // This process holds it no more, and there is nothing to release: another grant has taken its
    // place in the database, or another process will.
    void supersede() noexcept;

    // Keeps `what` for as long as this lease, wherever it moves.
    void attach(std::shared_ptr<void> what) noexcept { attached_ = std::move(what); }

private:
    loss_reason loss() const noexcept override { return first_->reason(); }
    bool extend_limit(std::chrono::microseconds term);
    release_outcome give_back_lost();
    release_outcome release_level(const bounds& of_call) LEASEHOLD_REQUIRES(first_->depth().mutex);
    release_outcome release_last(const bounds& of_call) LEASEHOLD_REQUIRES(first_->depth().mutex);
    bool release_with_row(const bounds& of_call);

    std::shared_ptr<void> attached_;
    // Tells every level when the grant is lost, and this one alone when it is released.
    std::stop_callback<forward_stop> chain_;
};

// adopt() of leasehold/detach.hpp, for a caller with a session and no handle.
acquisition adopt_into(
    const std::shared_ptr<session::implementation>& into, const detached_lease& what
);

}  // namespace leasehold
