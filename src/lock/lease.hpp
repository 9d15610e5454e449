#pragma once
// What stands behind a leasehold::lease: one level of a grant, and how it is given back.
#include <memory>
#include <optional>
#include <stop_token>

#include "leasehold/lease.hpp"
#include "lock/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

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
    void release_quietly() noexcept;

private:
    release_outcome release_level();
    release_outcome release_last();
    release_outcome release_on(connection& on, lock_store& locks, bool was_in_doubt);
    void lose(loss_reason why);

    const std::shared_ptr<session::implementation> session_;
    const std::shared_ptr<grant> grant_;
    std::atomic<bool> is_released_ = false;
    // Fires for this level alone when it is released, and for every level when the grant is lost.
    std::stop_source given_back_;
    struct pass_on {
        std::stop_source* to;
        void operator()() const { to->request_stop(); }
    };
    std::stop_callback<pass_on> chain_;
};

}  // namespace leasehold
