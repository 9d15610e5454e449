#pragma once
// What stands behind a leasehold::multi_lease: a grant for each key, all of one owner, and how they
// are given back together.
#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "leasehold/multi_lock.hpp"
#include "lock/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

// "'a' and 2 more", for messages.
std::string label_of(const std::vector<key>& keys);

class multi_lease::implementation {
public:
    implementation(
        std::shared_ptr<session::implementation> within,
        std::vector<key> keys,
        std::vector<std::shared_ptr<grant>> grants
    );
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    ~implementation() = default;

    const std::vector<key>& keys() const noexcept { return keys_; }
    const std::vector<fencing_token>& tokens() const noexcept { return tokens_; }
    const owner_id& owner() const noexcept { return grants_.front()->what().owner; }
    std::stop_token lost() const noexcept { return lost_.get_token(); }
    std::stop_token revoke_requested() const noexcept { return revoke_.get_token(); }
    loss_reason reason() const noexcept;
    local_clock::time_point deadline() const noexcept;
    bool held_locally() const noexcept;

    bool verify();
    void verify_in(connection& inside);
    release_outcome release();
    void release_quietly() noexcept;

private:
    // The first key that is lost is the whole lease's loss.
    struct pass_loss_on {
        implementation* to;
        const grant* of;
        void operator()() const;
    };
    struct pass_request_on {
        std::stop_source* to;
        void operator()() const {
            std::stop_source source = *to;  // whoever is told may destroy the lease
            source.request_stop();
        }
    };
    struct chain {
        std::stop_callback<pass_loss_on> loss;
        std::stop_callback<pass_request_on> request;
    };

    std::vector<hold> holds() const;
    void lose(grant& which, loss_reason why);
    void find_the_lost(store& stores, connection& inside);
    [[noreturn]] void refuse();
    release_outcome give_back(bool is_parting);
    void settle_later();
    release_outcome release_on(connection& on, store& stores, bool was_in_doubt);
    release_outcome told(release_outcome outcome);

    const std::shared_ptr<session::implementation> session_;
    const std::vector<key> keys_;
    const std::vector<std::shared_ptr<grant>> grants_;
    std::vector<fencing_token> tokens_;
    std::atomic<bool> is_released_ = false;
    std::atomic<loss_reason> reason_{loss_reason::none};
    std::stop_source lost_;
    std::stop_source revoke_;
    std::vector<std::unique_ptr<chain>> chains_;  // last: they use the others
};

}  // namespace leasehold
