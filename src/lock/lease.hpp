#pragma once
// What stands behind a leasehold::lease: one level of a grant, and how it is given back.
#include <memory>
#include <optional>
#include <stop_token>

#include "leasehold/lease.hpp"
#include "lock/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

// How often a release that failed is asked for; again is harmless, as it names owner and token.
constexpr int release_attempts_max = 3;

class lease::implementation {
public:
    implementation(std::shared_ptr<session::implementation> within, std::shared_ptr<grant> granted);

    const hold& what() const noexcept { return grant_->what(); }
    std::stop_token lost() const noexcept { return given_back_.get_token(); }
    loss_reason reason() const noexcept;
    bool held_locally() const noexcept;
    local_clock::time_point deadline() const noexcept;

    bool verify();
    void verify_in(connection& inside);
    release_outcome release();
    // Parting: one statement time-out in all, and none where the server seems to be out.
    release_outcome give_back(bool is_parting);
    void release_quietly() noexcept;
    std::stop_token revoke_requested() const noexcept { return grant_->revoke_requested(); }

    // For handing the hold over.
    bool has_term() const noexcept { return grant_->term_end().has_value(); }
    int levels() const;
    session::implementation& within() const noexcept { return *session_; }

    const std::shared_ptr<grant>& granted() const noexcept { return grant_; }
    bool belongs_to(const session::implementation& within) const noexcept {
        return session_.get() == &within;
    }
    // This process holds it no more, and there is nothing to release: another grant has taken its
    // place in the database, or another process will.
    void supersede() noexcept;

private:
    release_outcome give_back_lost();
    release_outcome release_level(const bounds& of_call);
    release_outcome release_last(const bounds& of_call, bool is_parting);
    release_outcome release_on(connection& on, store& stores, bool was_in_doubt);
    void lose(loss_reason why);

    const std::shared_ptr<session::implementation> session_;
    const std::shared_ptr<grant> grant_;
    std::atomic<bool> is_released_ = false;
    // Fires for this level alone when it is released, and for every level when the grant is lost.
    std::stop_source given_back_;
    struct pass_on {
        std::stop_source* to;
        void operator()() const {
            std::stop_source source = *to;  // whoever is told may destroy the lease
            source.request_stop();
        }
    };
    std::stop_callback<pass_on> chain_;
};

}  // namespace leasehold
