#pragma once
// The implementation of a leasehold::multi_lease: a grant for each key, all of one owner, and how
// they are given back together.
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "leasehold/multi_lock.hpp"
#include "locks/holding.hpp"
#include "session/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

// "'a' and 2 more", for messages.
std::string label_of(const std::vector<key>& keys);

class multi_lease::implementation final : public holding {
public:
    implementation(
        std::shared_ptr<session::implementation> within,
        std::vector<key> keys,
        std::vector<std::shared_ptr<grant>> grants
    );

    const std::vector<key>& keys() const noexcept { return keys_; }
    const std::vector<fencing_token>& tokens() const noexcept { return tokens_; }
    const owner_id& owner() const noexcept { return first_->what().owner; }
    std::stop_token revoke_requested() const noexcept { return revoke_.get_token(); }

    bool verify();
    bool extend(std::chrono::microseconds term);
    void verify_in(connection& inside);
    release_outcome give_back(bool is_parting) override;
    local_clock::time_point deadline() const noexcept override;

private:
    // The loss of the first key is the loss of the whole lease.
    struct pass_loss_on {
        implementation* to;
        const grant* of;
        void operator()() const;
    };
    struct chain {
        std::stop_callback<pass_loss_on> loss;
        std::stop_callback<forward_stop> request;
    };

    loss_reason loss() const noexcept override { return reason_; }
    std::vector<hold> holds() const;
    void find_the_lost(store_set& stores, connection& inside);

    const std::vector<key> keys_;
    const std::vector<std::shared_ptr<grant>> grants_;
    std::vector<fencing_token> tokens_;
    std::atomic<loss_reason> reason_{loss_reason::none};
    std::stop_source revoke_;
    std::vector<std::unique_ptr<chain>> chains_;  // last: they use the fields above
};

}  // namespace leasehold
